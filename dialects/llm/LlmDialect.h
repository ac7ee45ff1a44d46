// SPDX-License-Identifier: Apache-2.0
// The llm dialect, its attributes and types. Operations: one header per family, `Llm*Ops.h`.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "numerics/Encodings.h"
#include <optional>
#include <string>

namespace ingot::llm {

/// The traits that LlmDialect.td describes.
template <class Op> class MovesElements : public mlir::OpTrait::TraitBase<Op, MovesElements> {};
template <class Op> class StoresResult : public mlir::OpTrait::TraitBase<Op, StoresResult> {};
template <class Op> class RowIndependent : public mlir::OpTrait::TraitBase<Op, RowIndependent> {};

} // namespace ingot::llm

#define GET_ATTRDEF_CLASSES
#include "dialects/llm/LlmAttributes.h.inc"

#include "dialects/llm/LlmDialect.h.inc" // whose discardable attributes are among those

#define GET_TYPEDEF_CLASSES
#include "dialects/llm/LlmTypes.h.inc"

namespace ingot::llm {

/// The KV group of a cache or of recurrent state.
struct KvGroup {
  int64_t window; ///< positions that tokens attend to; 0: all
  llvm::StringRef kind;
  int64_t blockTokens;

  /// What it is called: its kind, and the window if it has one ("sliding.512").
  std::string name() const;
  /// The order of an engine's groups.
  bool operator<(const KvGroup &other) const {
    return std::tie(window, kind) < std::tie(other.window, other.kind);
  }
};

/// Nothing for types of other arguments.
std::optional<KvGroup> kvGroupOf(mlir::Type type);

/// Number of columns of a tensor: its last extent; 1 for one-dimensional tensors.
int64_t columnsOf(mlir::Value tensor);

/// Rows of an activation as an expression over dims: its type's encoding text, or its static
/// extent.
engine::ExprAttr rowsOf(mlir::RankedTensorType type);

/// Rows as a multiple of a dim; of no dim (empty) where they are static.
struct RowCount {
  std::string dim;
  int64_t factor;
};
/// The rows of an activation so; nothing where they are another expression.
std::optional<RowCount> rowCountOf(mlir::RankedTensorType type);

/// How many rows `many` has for each row of `few`; 0 if that is no whole number.
int64_t rowsFor(mlir::RankedTensorType many, mlir::RankedTensorType few);

/// `type` with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type element);

/// `type` with another number of columns.
mlir::RankedTensorType withColumns(mlir::RankedTensorType type, int64_t columns);

} // namespace ingot::llm
