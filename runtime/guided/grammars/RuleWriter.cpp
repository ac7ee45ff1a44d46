// SPDX-License-Identifier: Apache-2.0
// Rules are written after those that they refer to, but for recursion, which goes by symbols.
#include "runtime/guided/grammars/RuleWriter.h"

#include "runtime/guided/grammars/GrammarReader.h"

#include <algorithm>

namespace ingot::runtime::guided {

/// A rule is repeated where it is referred to up to this size, and else a symbol.
constexpr size_t largestRepeated = 1024;
constexpr uint32_t highestRepeated = 64;
/// Bounds of a terminal, which is repeated always.
constexpr size_t largestTerminal = size_t(1) << 16;
constexpr uint32_t highestTerminal = 300;

void RuleWriter::Part::cover(const Part &inner) {
  weight += inner.weight;
  height = std::max(height, inner.height + 1);
}

Status RuleWriter::refuse(RuleId rule, std::string_view code, std::string_view why) const {
  const RuleTree::Rule &named = tree.rules()[rule];
  return Status::error(code, "the grammar (" + std::string(language) + ") is refused at " +
                                 placeIn(text, named.place) + ": '" + named.name.substr(0, 64) +
                                 "' " + std::string(why));
}

Result<Symbol> RuleWriter::write(std::string_view start) {
  if (Status status = checkDefined(); !status.ok())
    return status;
  const auto root = tree.find(start);
  if (!root)
    return Status::error("INGOT-E6621", "the grammar (" + std::string(language) +
                                            ") has no rule '" + std::string(start) +
                                            "', from which it begins");
  if (Status status = writeRules(*root); !status.ok())
    return status;
  if (Status status = builder.status(); !status.ok())
    return status;
  productive = builder.productive();
  if (Status status = blame(); !status.ok())
    return status;
  return symbolOf(states[*root].part);
}

Status RuleWriter::checkDefined() const {
  const auto &rules = tree.rules();
  RuleId first = RuleId(rules.size());
  for (RuleId rule = 0; rule < rules.size(); ++rule)
    if (rules[rule].body == RuleTree::none &&
        (first == rules.size() || rules[rule].place < rules[first].place))
      first = rule;
  return first == rules.size() ? Status() : refuse(first, "INGOT-E6621", "is not defined");
}

Status RuleWriter::writeRules(RuleId start) {
  struct Open {
    RuleId rule;
    std::vector<RuleId> references;
    size_t next = 0;
  };
  std::vector<Open> open;
  auto enter = [&](RuleId rule) {
    states[rule].progress = RuleState::Progress::Open;
    open.push_back({rule, tree.references(tree.rules()[rule].body)});
  };
  enter(start);
  while (!open.empty()) {
    Open &top = open.back();
    if (top.next < top.references.size()) {
      const RuleId rule = top.references[top.next++];
      if (states[rule].progress == RuleState::Progress::Unseen)
        enter(rule);
      else if (states[rule].progress == RuleState::Progress::Open && tree.rules()[rule].lexical)
        return refuse(rule, "INGOT-E6621", "is a terminal that refers to itself");
      continue;
    }
    if (Status status = close(top.rule); !status.ok())
      return status;
    open.pop_back();
  }
  return {};
}

/// Writes a rule whose references are known.
Status RuleWriter::close(RuleId rule) {
  RuleState &state = states[rule];
  const RuleTree::Rule &read = tree.rules()[rule];
  lexical = read.lexical;
  const Alternatives alternatives = alternativesOf(read.body);
  if (alternatives.others.empty()) {
    state.part = alternatives.regular;
  } else {
    if (!state.hasSymbol)
      state.symbol = builder.rule();
    add(state.symbol, alternatives);
    state.part.isRegular = false;
    state.part.symbol = state.symbol;
  }
  state.progress = RuleState::Progress::Done;
  if (lexical && (state.part.weight > largestTerminal || state.part.height > highestTerminal))
    return refuse(rule, "INGOT-E6623", "is too large for a terminal");
  return builder.expressions().status().ok() ? Status() : builder.status();
}

bool RuleWriter::derives(RuleId rule, const std::vector<bool> &known) const {
  const Part &part = states[rule].part;
  return part.isRegular ? part.expression != ExpressionArena::nothing : known[part.symbol.index()];
}

/// Of the rules that derive no text, one that is to blame.
Status RuleWriter::blame() const {
  auto isIdle = [&](RuleId rule) {
    return states[rule].progress == RuleState::Progress::Done && !derives(rule, productive);
  };
  RuleId rule = 0;
  while (rule < states.size() && !isIdle(rule))
    ++rule;
  if (rule == states.size())
    return {};
  // By those that it needs, until one comes again.
  std::vector<bool> seen(states.size());
  while (!seen[rule]) {
    seen[rule] = true;
    const auto needed = tree.references(tree.rules()[rule].body);
    const auto idle = std::ranges::find_if(needed, isIdle);
    if (idle == needed.end())
      return refuse(rule, "INGOT-E6622", "matches no text");
    rule = *idle;
  }
  return refuse(rule, "INGOT-E6622", "derives no text: it needs itself");
}

Symbol RuleWriter::symbolOf(const Part &part) {
  return part.isRegular ? builder.terminal(part.expression) : part.symbol;
}

void RuleWriter::add(Symbol rule, const Alternatives &alternatives) {
  if (alternatives.hasRegular)
    builder.add(rule, {symbolOf(alternatives.regular)});
  for (const std::vector<Symbol> &symbols : alternatives.others)
    builder.add(rule, symbols);
}

RuleWriter::Part RuleWriter::write(NodeId id) {
  const RuleTree::Node &node = tree.node(id);
  Part part;
  switch (node.kind) {
  case RuleTree::Node::Kind::Literal:
    part.expression = builder.expressions().literal(node.text);
    part.weight += node.text.size();
    return part;
  case RuleTree::Node::Kind::Expression:
    part.expression = node.expression;
    part.weight = 4;
    return part;
  case RuleTree::Node::Kind::Reference:
    return writeReference(node.rule);
  case RuleTree::Node::Kind::Repeat:
    return writeRepeat(node);
  default:
    break;
  }
  const Alternatives alternatives = alternativesOf(id);
  if (alternatives.others.empty())
    return alternatives.regular;
  part.isRegular = false;
  part.symbol = builder.rule();
  add(part.symbol, alternatives);
  return part;
}

RuleWriter::Part RuleWriter::writeReference(RuleId rule) {
  RuleState &state = states[rule];
  if (state.progress == RuleState::Progress::Done && state.part.isRegular) {
    if (lexical)
      return state.part;
    if (state.part.weight <= largestRepeated && state.part.height <= highestRepeated &&
        state.part.weight <= room) {
      room -= state.part.weight;
      return state.part;
    }
  }
  Part part;
  part.isRegular = false;
  if (state.progress == RuleState::Progress::Done) {
    part.symbol = symbolOf(state.part);
    return part;
  }
  if (!state.hasSymbol)
    state.symbol = builder.rule();
  state.hasSymbol = true;
  part.symbol = state.symbol;
  return part;
}

RuleWriter::Part RuleWriter::writeRepeat(const RuleTree::Node &node) {
  const Part inner = write(tree.childrenOf(node).front());
  Part part;
  part.isRegular = inner.isRegular;
  part.cover(inner);
  if (inner.isRegular)
    part.expression = builder.expressions().repeat(inner.expression, node.minimum, node.maximum);
  else if (node.minimum == 0 && node.maximum == 1)
    part.symbol = builder.optional(inner.symbol);
  else
    part.symbol = builder.repeat(inner.symbol, node.minimum, node.maximum);
  return part;
}

/// Neighbours that are expressions are one. `symbols` are filled where the sequence is none.
RuleWriter::Part RuleWriter::writeSequence(const RuleTree::Node &node,
                                           std::vector<Symbol> &symbols) {
  ExpressionArena &arena = builder.expressions();
  Part whole;
  std::vector<ExpressionId> run;
  auto flush = [&] {
    if (!run.empty())
      symbols.push_back(builder.terminal(arena.concatenation(run)));
    run.clear();
  };
  for (const NodeId child : tree.childrenOf(node)) {
    const Part part = write(child);
    whole.cover(part);
    if (part.isRegular) {
      run.push_back(part.expression);
      continue;
    }
    flush();
    whole.isRegular = false;
    symbols.push_back(part.symbol);
  }
  if (whole.isRegular)
    whole.expression = arena.concatenation(run);
  else
    flush();
  return whole;
}

RuleWriter::Alternatives RuleWriter::alternativesOf(NodeId id) {
  const RuleTree::Node &node = tree.node(id);
  const bool isChoice = node.kind == RuleTree::Node::Kind::Choice;
  const NodeId own[] = {id};
  Alternatives result;
  std::vector<ExpressionId> expressions;
  std::vector<std::string> literals;
  for (const NodeId child : isChoice ? tree.childrenOf(node) : std::span<const NodeId>(own)) {
    const RuleTree::Node &one = tree.node(child);
    if (one.kind == RuleTree::Node::Kind::Literal) {
      literals.push_back(one.text);
      result.regular.weight += one.text.size();
      continue;
    }
    std::vector<Symbol> symbols;
    const Part part =
        one.kind == RuleTree::Node::Kind::Sequence ? writeSequence(one, symbols) : write(child);
    if (part.isRegular) {
      expressions.push_back(part.expression);
      result.regular.cover(part);
    } else {
      result.others.push_back(symbols.empty() ? std::vector{part.symbol} : std::move(symbols));
    }
  }
  if (!literals.empty())
    expressions.push_back(builder.expressions().literals(literals));
  result.hasRegular = !expressions.empty();
  result.regular.expression = builder.expressions().alternation(expressions);
  return result;
}

} // namespace ingot::runtime::guided
