// SPDX-License-Identifier: Apache-2.0
// Parser: tokens to the syntax tree.
#pragma once

#include "runtime/jinja/ExpressionParser.h"
#include "runtime/jinja/SyntaxTree.h"

#include <initializer_list>

namespace ingot::runtime::jinja {

/// Statements. One use: parse() once.
class Parser : private ExpressionParser {
public:
  /// Fills `tree`, whose source is set. Throws Failure; `offset` then says where.
  Parser(SyntaxTree &tree, uint32_t &offset);
  void parse();

private:
  using Ends = std::initializer_list<std::string_view>;
  using StatementPtr = std::unique_ptr<Statement>;

  StatementPtr make(Statement::Kind kind);
  Body statements(Ends ends);
  /// The rest of a tag and statements up to one of `ends`, which is the current token then.
  Body body(Ends ends);
  /// The same, and past `end` itself.
  Body bodyTo(std::string_view end);
  bool atEnd(Ends ends) const;
  void output(Body &into);
  StatementPtr statement();
  StatementPtr ifStatement();
  StatementPtr forStatement();
  StatementPtr setStatement();
  StatementPtr withStatement();
  StatementPtr macroStatement();
  StatementPtr callStatement();
  StatementPtr filterStatement();
  StatementPtr blockStatement();
  StatementPtr printStatement();
  StatementPtr scopeStatement(Statement::Kind kind, std::string_view end);
  StatementPtr jump(Statement::Kind kind);
  void signature(Signature &signature);
  /// Parses what `signature` belongs to, and notes which special names it reads.
  Body macroBody(Signature &signature, std::string_view end);
  [[noreturn]] void unknownTag(const std::string &name);

  std::vector<std::string> openTags;
  int loops = 0; ///< around the current statement, in the same macro
};

} // namespace ingot::runtime::jinja
