// SPDX-License-Identifier: Apache-2.0
// Parsing, printing and evaluation of integer expressions.
#include "dialects/engine/EngineExpr.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <numeric>

using namespace ingot::engine;
using llvm::StringRef;

namespace {

/// Binding strength of an operator, its spelling and its meaning; weakest first.
struct OperatorSpelling {
  StringRef text;
  Expr::Op op;
  int level;
};
constexpr int kLevels = 3;
constexpr int kMaxDepth = 64;

const std::array<OperatorSpelling, 7> kOperators = {{{"min", Expr::Op::Min, 0},
                                                     {"max", Expr::Op::Max, 0},
                                                     {"+", Expr::Op::Add, 1},
                                                     {"-", Expr::Op::Sub, 1},
                                                     {"*", Expr::Op::Mul, 2},
                                                     {"ceildiv", Expr::Op::CeilDiv, 2},
                                                     {"floordiv", Expr::Op::FloorDiv, 2}}};

class Parser {
public:
  explicit Parser(StringRef text) : rest(text) {}

  std::optional<Expr> run() {
    if (!binary(0) || !rest.ltrim().empty())
      return std::nullopt;
    return std::move(result);
  }

private:
  /// Takes the next word or sign off the text.
  StringRef peek() const {
    StringRef text = rest.ltrim();
    if (text.empty())
      return {};
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
    return isWord(text[0]) ? text.take_while(isWord) : text.take_front(1);
  }
  void take(StringRef token) { rest = rest.ltrim().drop_front(token.size()); }

  bool binary(int level) {
    if (level == kLevels)
      return primary();
    if (!binary(level + 1))
      return false;
    while (true) {
      StringRef token = peek();
      const auto *spelling = llvm::find_if(
          kOperators, [&](const auto &o) { return o.text == token && o.level == level; });
      if (spelling == kOperators.end())
        return true;
      take(token);
      if (!binary(level + 1))
        return false;
      result.nodes.push_back({spelling->op});
    }
  }

  bool primary() {
    StringRef token = peek();
    if (token.empty())
      return false;
    take(token);
    if (token == "(") {
      if (++depth > kMaxDepth || !binary(0) || peek() != ")")
        return false;
      take(")");
      --depth;
      return true;
    }
    int64_t value = 0;
    if (!token.getAsInteger(10, value)) {
      result.nodes.push_back({Expr::Op::Const, value});
      return true;
    }
    bool isOperator = llvm::any_of(kOperators, [&](const auto &o) { return o.text == token; });
    if (isOperator || !(llvm::isAlpha(token[0]) || token[0] == '_'))
      return false;
    result.nodes.push_back({Expr::Op::Dim, 0, token.str()});
    return true;
  }

  StringRef rest;
  Expr result;
  int depth = 0;
};

std::optional<int64_t> apply(Expr::Op op, int64_t a, int64_t b) {
  int64_t value = 0;
  switch (op) {
  case Expr::Op::Add:
    return llvm::AddOverflow(a, b, value) ? std::nullopt : std::optional(value);
  case Expr::Op::Sub:
    return llvm::SubOverflow(a, b, value) ? std::nullopt : std::optional(value);
  case Expr::Op::Mul:
    return llvm::MulOverflow(a, b, value) ? std::nullopt : std::optional(value);
  case Expr::Op::CeilDiv:
  case Expr::Op::FloorDiv: {
    if (b < 1)
      return std::nullopt;
    int64_t quotient = a / b, remainder = a % b;
    if (op == Expr::Op::CeilDiv)
      return quotient + (remainder > 0 ? 1 : 0);
    return quotient - (remainder < 0 ? 1 : 0);
  }
  case Expr::Op::Min:
    return std::min(a, b);
  case Expr::Op::Max:
    return std::max(a, b);
  case Expr::Op::Const:
  case Expr::Op::Dim:
    break;
  }
  return std::nullopt;
}

} // namespace

std::optional<Expr> Expr::parse(StringRef text) { return Parser(text).run(); }

std::optional<int64_t>
Expr::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> dimValue) const {
  llvm::SmallVector<int64_t, 8> stack;
  for (const Node &node : nodes) {
    if (node.op == Op::Const || node.op == Op::Dim) {
      std::optional<int64_t> value = node.op == Op::Const ? node.value : dimValue(node.dim);
      if (!value)
        return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    int64_t right = stack.pop_back_val();
    std::optional<int64_t> value = apply(node.op, stack.back(), right);
    if (!value)
      return std::nullopt;
    stack.back() = *value;
  }
  return stack.back();
}

int64_t Expr::divisor() const {
  llvm::SmallVector<int64_t, 8> stack;
  for (const Node &node : nodes) {
    if (node.op == Op::Const || node.op == Op::Dim) { // constants have no sign
      stack.push_back(node.op == Op::Const ? node.value : 1);
      continue;
    }
    int64_t right = stack.pop_back_val(), product = 0;
    int64_t &left = stack.back();
    if (node.op == Op::CeilDiv || node.op == Op::FloorDiv)
      left = 1;
    else if (node.op == Op::Mul)
      left = llvm::MulOverflow(left, right, product) ? left : product;
    else // a sum, a difference and either of the two are multiples of what divides both
      left = std::gcd(left, right);
  }
  return stack.back();
}

std::string Expr::str() const {
  // Each stack entry carries the level of its outermost operator; operands that bind weaker than
  // their place needs get parentheses.
  llvm::SmallVector<std::pair<std::string, int>, 8> stack;
  for (const Node &node : nodes) {
    if (node.op == Op::Const || node.op == Op::Dim) {
      stack.push_back({node.op == Op::Const ? std::to_string(node.value) : node.dim, kLevels});
      continue;
    }
    const auto *spelling =
        llvm::find_if(kOperators, [&](const auto &o) { return o.op == node.op; });
    auto enclose = [](const std::pair<std::string, int> &operand, int level) {
      return operand.second < level ? "(" + operand.first + ")" : operand.first;
    };
    auto right = stack.pop_back_val();
    auto left = stack.pop_back_val();
    stack.push_back({enclose(left, spelling->level) + " " + spelling->text.str() + " " +
                         enclose(right, spelling->level + 1),
                     spelling->level});
  }
  return stack.back().first;
}
