// SPDX-License-Identifier: Apache-2.0
// A weight as the tensors that it consists of, and the operations that read one.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "mlir/IR/OpDefinition.h"

namespace ingot::llm {

/// Tensors that a weight does not have are null.
struct EncodedWeight {
  /// One of them.
  using Tensor = mlir::Value EncodedWeight::*;

  mlir::Value values, scales = {}, zeros = {}, superScales = {};
  EncodingAttr encoding = {}; ///< null: there are values alone

  /// `parts`: those beside the values, as many as `encoding` has, in order.
  static EncodedWeight of(mlir::Value values, mlir::ValueRange parts, EncodingAttr encoding);

  /// The tensors beside the values, in the order of operands.
  llvm::SmallVector<mlir::Value, 3> parts() const;

  Encoding facts() const { return encoding ? encoding.facts() : Encoding(); }
  ScaleExtent extent() const { return encoding ? facts().extent() : kNoScales; }
  bool isEncoded() const { return encoding != nullptr; }

  /// What `tensor` is to the weight: "weight", "scales", "zeros" or "super_scales"; empty if it is
  /// none of its tensors.
  llvm::StringRef roleOf(mlir::Value tensor) const;

  /// Whether `tensor`, one of the weight's, has rows for those of the weight. Others are the same
  /// for all of it: code books, tables of scales, the scale of a whole tensor.
  bool hasRows(mlir::Value tensor) const;

  /// The weight of which every tensor with rows is what `map` makes of this one's. `order`: in
  /// which it is asked for them, which decides their order in engine files; if empty, that of
  /// operands.
  EncodedWeight mapRows(llvm::function_ref<mlir::Value(mlir::Value)> map,
                        llvm::ArrayRef<Tensor> order = {}) const;

  /// Likewise of those of several weights, which agree in all else: the others are the first's.
  static EncodedWeight mapRows(llvm::ArrayRef<EncodedWeight> weights,
                               llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)> map);
};

/// What a weight in `encoding`, which may be null, has beside its values: names of operands, in
/// order.
llvm::SmallVector<llvm::StringRef, 3> partNames(EncodingAttr encoding);

/// Of operations whose results depend on weights alone.
template <class Op>
class WeightExpression : public mlir::OpTrait::TraitBase<Op, WeightExpression> {};

/// The other traits of such operations, as EncodedWeight.td describes them.
template <class Op> class QuantizableRoot : public mlir::OpTrait::TraitBase<Op, QuantizableRoot> {};
template <class Op> class StacksMatrices : public mlir::OpTrait::TraitBase<Op, StacksMatrices> {};
template <class Op>
class ReordersElements : public mlir::OpTrait::TraitBase<Op, ReordersElements> {};

/// Whether `op` ends the expression of a matrix that recipes give a format. Parts of a matrix have
/// none of their own, nor has a stack of matrices.
bool isQuantizableMatrix(mlir::Operation *op);

/// Checks the tensors of an operation's weight against its encoding.
mlir::LogicalResult verifyEncodedWeight(mlir::Operation *op);

} // namespace ingot::llm

#include "dialects/llm/EncodedWeight.h.inc"
