// SPDX-License-Identifier: Apache-2.0
// Context-free grammars whose terminals are expressions over bytes.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/Expression.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ingot::runtime::guided {

/// A terminal or a rule of one GrammarBuilder.
struct Symbol {
  uint32_t code = 0; ///< twice the index, and 1 for terminals

  bool terminal() const { return code & 1; }
  uint32_t index() const { return code / 2; }
  bool operator==(const Symbol &) const = default;
};

/// What bounds a grammar; past a limit build() gives INGOT-E6603.
struct GrammarLimits {
  size_t rules = 200000;
  size_t alternatives = 400000;
  size_t symbols = 1000000; ///< of all alternatives
  ExpressionLimits expressions;
};

/// A grammar that is ready to recognize: immutable, shared by threads. Its language has a text;
/// every symbol left in it derives one and is reached from the start, so that whatever a recognizer
/// has let pass can be completed.
///
/// Right sides are lists with shared ends: suffix 0 is the end, suffix i > 0 is one symbol and then
/// another suffix.
class Grammar {
public:
  struct Suffix {
    Symbol symbol;
    uint32_t next;
    bool nullable;     ///< all of it derives the empty text
    bool headNullable; ///< its symbol does
  };
  struct Rule {
    uint32_t begin, end; ///< its alternatives, non-empty ones: `alternatives`[begin, end)
    bool nullable;
  };

  const ExpressionArena &expressions() const { return arena; }
  std::span<const Suffix> suffixes() const { return suffixList; }
  std::span<const Rule> rules() const { return ruleList; }
  /// The first suffix of each alternative.
  std::span<const uint32_t> alternatives() const { return alternativeList; }
  /// What each terminal matches. The recognizer asks them for one byte at least: that a terminal
  /// may be empty is in the suffixes.
  std::span<const ExpressionId> terminals() const { return terminalList; }
  /// The suffix of the start symbol alone.
  uint32_t start() const { return startSuffix; }

private:
  friend class GrammarBuilder;
  explicit Grammar(ExpressionArena arena) : arena(std::move(arena)) {}

  ExpressionArena arena;
  std::vector<Suffix> suffixList;
  std::vector<Rule> ruleList;
  std::vector<uint32_t> alternativeList;
  std::vector<ExpressionId> terminalList;
  uint32_t startSuffix = 0;
};

/// Collects rules. Any context-free grammar will do: left and right recursion, empty alternatives,
/// ambiguity. A text may be split into terminals in any way that the rules allow: no terminal takes
/// more than another's start leaves it. Recursion to the left or to the right costs the same.
/// No call fails; limits and an empty language are found by build().
///
/// A list of integers in brackets, "[1,22,3]":
///
///     GrammarBuilder builder;
///     ExpressionArena &arena = builder.expressions();
///     Symbol digits = builder.terminal(arena.repeat(arena.range('0', '9'), 1));
///     Symbol comma = builder.literal(",");
///     Symbol list = builder.rule();
///     builder.add(list, {digits});
///     builder.add(list, {list, comma, digits});
///     Symbol start = builder.sequence({builder.literal("["), builder.optional(list),
///                                      builder.literal("]")});
///     Result<std::shared_ptr<const Grammar>> grammar = std::move(builder).build(start);
class GrammarBuilder {
public:
  explicit GrammarBuilder(GrammarLimits limits = {});

  /// Where the terminals' expressions are made.
  ExpressionArena &expressions() { return arena; }

  /// The terminal of that expression; the same one for the same expression.
  Symbol terminal(ExpressionId expression);
  Symbol literal(std::string_view text) { return terminal(arena.literal(text)); }

  /// A new rule, without alternatives: until some are added it derives nothing.
  Symbol rule();
  /// `rule` ::= ... | `symbols`. No symbols: the empty text.
  void add(Symbol rule, std::span<const Symbol> symbols);
  void add(Symbol rule, std::initializer_list<Symbol> symbols) {
    add(rule, std::span(symbols.begin(), symbols.size()));
  }

  /// A new rule of one alternative.
  Symbol sequence(std::span<const Symbol> symbols);
  Symbol sequence(std::initializer_list<Symbol> symbols) {
    return sequence(std::span(symbols.begin(), symbols.size()));
  }
  /// A new rule with an alternative for each symbol.
  Symbol choice(std::span<const Symbol> symbols);
  Symbol choice(std::initializer_list<Symbol> symbols) {
    return choice(std::span(symbols.begin(), symbols.size()));
  }
  /// A new rule: `symbol` or the empty text.
  Symbol optional(Symbol symbol);
  /// A new rule: `minimum` to `maximum` times `symbol`, with `separator` between two of them.
  /// Nothing where minimum > maximum. A few hundred rules at most, whatever the counts.
  Symbol repeat(Symbol symbol, uint32_t minimum, uint32_t maximum = ExpressionArena::unbounded);
  Symbol separated(Symbol symbol, Symbol separator, uint32_t minimum,
                   uint32_t maximum = ExpressionArena::unbounded);

  /// INGOT-E6601 or INGOT-E6603 once a limit was met.
  Status status() const;

  /// How many rules there are.
  size_t ruleCount() const { return alternativesOf.size(); }

  /// Whether each rule made so far derives a text at all, by rule index: for a caller that wants to
  /// name what is impossible. Terminals that match nothing count as such.
  std::vector<bool> productive();

  /// Leaves out what derives no text or is not reached, and the rest is the grammar. Errors:
  /// INGOT-E6601 or INGOT-E6603 for a limit, INGOT-E6604 for an empty language.
  Result<std::shared_ptr<const Grammar>> build(Symbol start) &&;

private:
  using Alternative = std::vector<Symbol>;
  struct Marks;
  struct Counts;

  Symbol exactly(Symbol symbol, uint32_t count, Counts &made);
  Symbol upTo(Symbol symbol, uint32_t maximum, Counts &made);
  std::vector<bool> fixpoint(const std::vector<bool> &terminals) const;
  Marks mark(Symbol start);
  void emit(Grammar &grammar, const Marks &marks, Symbol start) const;

  GrammarLimits limits;
  ExpressionArena arena;
  std::vector<std::vector<Alternative>> alternativesOf;
  std::vector<ExpressionId> terminals;
  std::unordered_map<ExpressionId, uint32_t> terminalIndex;
  size_t alternativeCount = 0, symbolCount = 0;
};

} // namespace ingot::runtime::guided
