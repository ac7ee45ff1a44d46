// SPDX-License-Identifier: Apache-2.0
// Integer expressions over named dims: parsed from text, evaluated, and listed in postfix order.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <optional>
#include <string>

namespace ingot::engine {

/// A parsed expression in postfix order; the operators mirror ExprOp of Engine.fbs.
class Expr {
public:
  enum class Op : uint8_t { Const, Dim, Add, Sub, Mul, CeilDiv, FloorDiv, Min, Max };
  struct Node {
    Op op;
    int64_t value = 0;    // Const
    std::string dim = {}; // Dim
  };

  /// Parses the text form described at #engine.expr; nothing on a syntax error.
  static std::optional<Expr> parse(llvm::StringRef text);

  /// The value under `dimValue`, which answers nothing for an unknown dim; nothing on overflow or
  /// division by a value below one.
  std::optional<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> dimValue) const;

  /// A number that divides the value, whatever the dims: 8 for "T ceildiv 64 * 8"; 0 for zero.
  int64_t divisor() const;

  /// Text that parses to the same nodes.
  std::string str() const;

  llvm::SmallVector<Node, 8> nodes;
};

} // namespace ingot::engine
