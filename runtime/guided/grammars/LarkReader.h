// SPDX-License-Identifier: Apache-2.0
// The state of one reading of a grammar of Lark.
#pragma once

#include "runtime/guided/Grammar.h"
#include "runtime/guided/grammars/GrammarReader.h"

#include <vector>

namespace ingot::runtime::guided {

/// An expression of ECMA-262 for a terminal of Lark's library `common`; empty where there is none.
std::string_view commonTerminal(std::string_view name);

/// Reads once.
class LarkReader : GrammarReader {
public:
  LarkReader(GrammarBuilder &builder, std::string_view text)
      : GrammarReader(text, "Lark"), builder(builder), arena(builder.expressions()) {}

  Result<Symbol> read();

private:
  using NodeId = RuleTree::NodeId;

  /// A hidden rule: what is ignored, any number of times.
  static constexpr std::string_view ignoredRule = "%ignore";
  static constexpr std::string_view wholeRule = "%start";

  // Lark.cpp: statements.
  bool isLineEnd() const { return !ended() && (text[at] == '\n' || text[at] == '\r'); }
  void skipLine();
  void skipLines();
  void skip();
  bool statementAhead();
  std::string_view name();
  bool checkName(size_t place, std::string_view name);
  static bool isTerminal(std::string_view name);
  void skipPriority();
  void definition();
  void statement();
  void import();
  void importTerminal(size_t place, std::string_view common, std::string_view name);
  void endStatement();
  void defineHidden();

  // LarkExpressions.cpp: what stands behind a colon.
  NodeId alternatives();
  NodeId sequence();
  NodeId item();
  bool operatorAhead(uint32_t &minimum, uint32_t &maximum);
  bool tilde(size_t place, uint32_t &minimum, uint32_t &maximum);
  NodeId symbol();
  NodeId named();
  NodeId group(std::string_view end);
  NodeId literal();
  NodeId range(const std::vector<char32_t> &first, size_t place);
  bool characters(std::vector<char32_t> &list);
  bool escape(char32_t &value);
  NodeId regex();
  bool regexFlags(bool &ignoreCase, bool &dotAll);
  bool checkRegex(std::string_view pattern, size_t start);
  NodeId terminal(NodeId node);
  NodeId refused(size_t place, std::string_view why);

  GrammarBuilder &builder;
  ExpressionArena &arena;
  bool lexical = false; ///< a terminal is being read
  std::vector<NodeId> ignored;
};

} // namespace ingot::runtime::guided
