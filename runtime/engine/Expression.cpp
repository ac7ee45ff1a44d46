// SPDX-License-Identifier: Apache-2.0
// Interval arithmetic with overflow checks, and the plain evaluation that may trust its result.
#include "runtime/engine/Expression.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

using schema::ExprOp;

/// Rounds towards minus infinity; the divisor is positive.
int64_t floorDivide(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0);
}

int64_t ceilDivide(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor > 0);
}

bool multiplyBounds(const Interval &left, const Interval &right, Interval &result) {
  int64_t corners[4];
  if (__builtin_mul_overflow(left.min, right.min, &corners[0]) ||
      __builtin_mul_overflow(left.min, right.max, &corners[1]) ||
      __builtin_mul_overflow(left.max, right.min, &corners[2]) ||
      __builtin_mul_overflow(left.max, right.max, &corners[3]))
    return false;
  result = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  return true;
}

/// Null on success, otherwise what is wrong.
const char *applyBounds(ExprOp op, const Interval &left, const Interval &right, Interval &result) {
  switch (op) {
  case ExprOp::Add:
    if (__builtin_add_overflow(left.min, right.min, &result.min) ||
        __builtin_add_overflow(left.max, right.max, &result.max))
      return "an addition overflows";
    return nullptr;
  case ExprOp::Sub:
    if (__builtin_sub_overflow(left.min, right.max, &result.min) ||
        __builtin_sub_overflow(left.max, right.min, &result.max))
      return "a subtraction overflows";
    return nullptr;
  case ExprOp::Mul:
    return multiplyBounds(left, right, result) ? nullptr : "a multiplication overflows";
  case ExprOp::CeilDiv:
  case ExprOp::FloorDiv: {
    if (right.min <= 0)
      return "a divisor can be zero or negative";
    auto divide = op == ExprOp::CeilDiv ? ceilDivide : floorDivide;
    result.min = std::min(divide(left.min, right.min), divide(left.min, right.max));
    result.max = std::max(divide(left.max, right.min), divide(left.max, right.max));
    return nullptr;
  }
  case ExprOp::Min:
    result = {std::min(left.min, right.min), std::min(left.max, right.max)};
    return nullptr;
  case ExprOp::Max:
    result = {std::max(left.min, right.min), std::max(left.max, right.max)};
    return nullptr;
  case ExprOp::Const:
  case ExprOp::Dim:
    break;
  }
  return "unknown operator";
}

Status malformed(const char *what) {
  return Status::error("INGOT-E5007", std::string("an expression over dims is malformed: ") + what,
                       "rebuild the engine");
}

} // namespace

Result<Interval> boundExpression(const schema::Expr &expression, std::span<const Interval> dims) {
  const auto *nodes = expression.nodes();
  if (!nodes || nodes->size() == 0 || nodes->size() > maximumExpressionNodes)
    return malformed("it is empty or too long");
  // The FlatBuffers verifier looks at the alignment of a vector's length only.
  if (reinterpret_cast<uintptr_t>(nodes->Data()) % alignof(schema::ExprNode) != 0)
    return malformed("it is misaligned");
  Interval stack[maximumExpressionDepth];
  size_t depth = 0;
  for (const schema::ExprNode *node : *nodes) {
    if (node->op() == ExprOp::Const || node->op() == ExprOp::Dim) {
      if (depth == maximumExpressionDepth)
        return malformed("it nests too deep");
      if (node->op() == ExprOp::Const) {
        stack[depth++] = {node->value(), node->value()};
        continue;
      }
      if (node->value() < 0 || uint64_t(node->value()) >= dims.size())
        return malformed("it names a dim that does not exist");
      stack[depth++] = dims[size_t(node->value())];
      continue;
    }
    if (depth < 2)
      return malformed("an operator lacks an operand");
    Interval result;
    if (const char *what = applyBounds(node->op(), stack[depth - 2], stack[depth - 1], result))
      return malformed(what);
    stack[--depth - 1] = result;
  }
  if (depth != 1)
    return malformed("it leaves more than one value");
  return stack[0];
}

int64_t evaluate(const schema::Expr &expression, std::span<const int64_t> dims) {
  int64_t stack[maximumExpressionDepth];
  size_t depth = 0;
  for (const schema::ExprNode *node : *expression.nodes()) {
    switch (node->op()) {
    case ExprOp::Const:
      stack[depth++] = node->value();
      continue;
    case ExprOp::Dim:
      stack[depth++] = dims[size_t(node->value())];
      continue;
    default:
      break;
    }
    int64_t right = stack[--depth];
    int64_t &left = stack[depth - 1];
    switch (node->op()) {
    case ExprOp::Add:
      left += right;
      break;
    case ExprOp::Sub:
      left -= right;
      break;
    case ExprOp::Mul:
      left *= right;
      break;
    case ExprOp::CeilDiv:
      left = ceilDivide(left, right);
      break;
    case ExprOp::FloorDiv:
      left = floorDivide(left, right);
      break;
    case ExprOp::Min:
      left = std::min(left, right);
      break;
    default:
      left = std::max(left, right);
      break;
    }
  }
  return stack[0];
}

} // namespace ingot::runtime
