// SPDX-License-Identifier: Apache-2.0
// From the rules of a text to those of a GrammarBuilder.
#pragma once

#include "runtime/guided/Grammar.h"
#include "runtime/guided/grammars/RuleTree.h"

#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// Writes once. What refers to no rule that is recursive or large is one expression, and so are
/// neighbours and alternatives of that kind; other rules are rules.
class RuleWriter {
public:
  /// `text` and `language`: for what is said of a place.
  RuleWriter(GrammarBuilder &builder, const RuleTree &tree, std::string_view text,
             std::string_view language)
      : builder(builder), tree(tree), text(text), language(language), states(tree.rules().size()) {}

  /// The symbol of the rule `start`. Errors: INGOT-E6621 for what is not defined and for a lexical
  /// rule that needs itself, INGOT-E6622 for what derives no text, INGOT-E6623, INGOT-E6601 and
  /// INGOT-E6603 for what is too large.
  Result<Symbol> write(std::string_view start);

private:
  using NodeId = RuleTree::NodeId;
  using RuleId = RuleTree::RuleId;

  /// What has been written: an expression, or a symbol where `isRegular` is false.
  struct Part {
    bool isRegular = true;
    ExpressionId expression = ExpressionArena::nothing;
    Symbol symbol = {};
    size_t weight = 1;   ///< about how many expressions it takes
    uint32_t height = 1; ///< how deep they nest

    void cover(const Part &inner);
  };
  struct RuleState {
    enum class Progress : uint8_t { Unseen, Open, Done };
    Progress progress = Progress::Unseen;
    bool hasSymbol = false; ///< what it holds refers to it
    Symbol symbol = {};
    Part part = {};
  };
  /// The alternatives of a rule: those that are expressions are one.
  struct Alternatives {
    Part regular;
    bool hasRegular = false;
    std::vector<std::vector<Symbol>> others;
  };

  Status checkDefined() const;
  Status writeRules(RuleId start);
  Status close(RuleId rule);
  Status blame() const;
  bool derives(RuleId rule, const std::vector<bool> &productive) const;
  Status refuse(RuleId rule, std::string_view code, std::string_view why) const;

  Part write(NodeId id);
  Part writeReference(RuleId rule);
  Part writeRepeat(const RuleTree::Node &node);
  Part writeSequence(const RuleTree::Node &node, std::vector<Symbol> &symbols);
  Alternatives alternativesOf(NodeId id);
  void add(Symbol rule, const Alternatives &alternatives);
  Symbol symbolOf(const Part &part);

  GrammarBuilder &builder;
  const RuleTree &tree;
  std::string_view text, language;
  std::vector<RuleState> states;
  std::vector<bool> productive;  ///< rules of the builder
  size_t room = size_t(1) << 18; ///< expressions that references may still repeat
  bool lexical = false;          ///< what is written is one terminal
};

} // namespace ingot::runtime::guided
