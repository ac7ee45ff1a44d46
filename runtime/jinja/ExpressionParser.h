// SPDX-License-Identifier: Apache-2.0
// ExpressionParser: tokens to expressions, by Jinja's grammar.
#pragma once

#include "runtime/jinja/Lexer.h"
#include "runtime/jinja/SyntaxTree.h"

#include <optional>
#include <string_view>

namespace ingot::runtime::jinja {

class ExpressionParser {
protected:
  ExpressionParser(SyntaxTree &tree, uint32_t &offset);

  // Tokens.
  const Token &current() const { return tokens[position]; }
  const Token &following() const {
    return tokens[position + 1 < tokens.size() ? position + 1 : position];
  }
  bool isName(std::string_view text) const {
    return current().kind == TokenKind::Name && current().text == text;
  }
  bool isOperator(std::string_view text) const {
    return current().kind == TokenKind::Operator && current().text == text;
  }
  Token next();
  bool skipName(std::string_view text);
  bool skipOperator(std::string_view text);
  void expect(TokenKind kind, std::string_view what);
  void expectOperator(std::string_view text);
  void expectName(std::string_view text);
  std::string expectAnyName();
  [[noreturn]] void wrong(std::string what, std::optional<uint32_t> where = std::nullopt);
  std::string describeCurrent() const;

  // Expressions.
  ExpressionPtr expression(bool withConditional = true);
  struct TupleForm {
    bool withConditional = true;
    bool isTarget = false;       ///< names and literals only
    bool withNamespaces = false; ///< targets may be name.attribute
    bool inParentheses = false;  ///< may be empty
    std::string_view endName{};  ///< a name that ends it
  };
  ExpressionPtr tuple(const TupleForm &form);
  ExpressionPtr target(bool withNamespaces, std::string_view endName = {});
  Symbol targetName();
  /// Filters behind `operand`, which may be null. `isInline`: the first "|" is left out.
  ExpressionPtr filters(ExpressionPtr operand, bool isInline = false);

  /// One level of nesting while it lives.
  class Nested {
  public:
    explicit Nested(ExpressionParser &parser);
    Nested(const Nested &) = delete;
    Nested &operator=(const Nested &) = delete;
    ~Nested() { --parser.depth; }

  private:
    ExpressionParser &parser;
  };

  /// Fails where a filter or a test does not exist, unless an `if` decides about it: then it is an
  /// error once it is met.
  void checkNames();

  SyntaxTree &tree;
  bool isConditional = false; ///< inside of an `if` statement
  // Whether these names were read.
  bool readsCaller = false;
  bool readsKwargs = false;
  bool readsVarargs = false;

private:
  ExpressionPtr make(Expression::Kind kind, uint32_t offset);
  /// Adds an operand; the tree's depth is bounded.
  void add(Expression &parent, ExpressionPtr operand);
  void bound(const Expression &expression);
  ExpressionPtr constant(uint32_t offset, Value value);
  ExpressionPtr unary(Expression::Kind kind, ExpressionPtr operand, uint32_t offset);
  ExpressionPtr binary(std::string name, ExpressionPtr left, ExpressionPtr right);

  ExpressionPtr conditional();
  ExpressionPtr orExpression();
  ExpressionPtr andExpression();
  ExpressionPtr notExpression();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr signedOperand(bool withFilters = true);
  ExpressionPtr primary(bool withNamespaces = false);
  ExpressionPtr namedOperand(bool withNamespaces);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr operand);
  ExpressionPtr filtersAndTests(ExpressionPtr operand);
  ExpressionPtr subscript(ExpressionPtr operand);
  ExpressionPtr slice(ExpressionPtr operand, ExpressionPtr first, uint32_t offset);
  ExpressionPtr call(ExpressionPtr operand);
  ExpressionPtr test(ExpressionPtr operand);
  void arguments(Expression &call);
  std::string dottedName();
  void checkTarget(const Expression &target);

  struct UnknownName {
    std::string_view what;
    std::string name;
    uint32_t offset;
  };

  std::optional<UnknownName> unknown;
  bool inTarget = false;
  std::vector<Token> tokens;
  size_t position = 0;
  uint32_t &offset;
  int depth = 0;
};

} // namespace ingot::runtime::jinja
