// SPDX-License-Identifier: Apache-2.0
// The reader of ECMA-262's expressions: recursive descent over code points.
#include "runtime/guided/RegexReader.h"

#include <algorithm>
#include <vector>

namespace ingot::runtime::guided {

/// How deep groups nest.
constexpr int deepestGroup = 200;

/// The largest count of a quantifier; larger ones mean this many.
constexpr uint32_t largestCount = 0x7FFFFFFF;

Result<ExpressionId> RegexReader::read() {
  if (options.search || pattern.find("(?") != pattern.npos) // Look-around asks for it too.
    anyCharacter = anyText(arena, options.spelling);
  Anchored whole = disjunction();
  if (failure.ok() && at < pattern.size())
    refuse(at, "a closing parenthesis without an opening one");
  if (!failure.ok())
    return std::move(failure);
  const ExpressionId before = options.search ? anyCharacter : ExpressionArena::empty;
  ExpressionId result =
      arena.alternation({arena.concatenation({before, whole.of[Free], before}),
                         arena.concatenation(whole.of[AtStart], before),
                         arena.concatenation(before, whole.of[AtEnd]), whole.of[AtStart | AtEnd]});
  if (!arena.status().ok())
    return arena.status();
  return result;
}

RegexReader::Anchored RegexReader::refuse(size_t where, std::string_view why) {
  if (failure.ok())
    failure = Status::error("INGOT-E6602", "the regular expression is refused at byte " +
                                               std::to_string(where) + ": " + std::string(why));
  at = pattern.size();
  return {};
}

RegexReader::Anchored RegexReader::disjunction() {
  Anchored result = alternative();
  std::vector<Anchored> all{result};
  while (take('|'))
    all.push_back(alternative());
  for (size_t flags = 0; flags < result.of.size() && all.size() > 1; ++flags) {
    std::vector<ExpressionId> list;
    for (const Anchored &one : all)
      list.push_back(one.of[flags]);
    result.of[flags] = arena.alternation(list);
  }
  return result;
}

RegexReader::Anchored RegexReader::alternative() {
  std::vector<Term> terms;
  while (at < pattern.size() && pattern[at] != '|' && pattern[at] != ')')
    terms.push_back(term());
  if (std::ranges::any_of(terms, [](const Term &term) { return term.look != Term::Look::None; }))
    return withLooks(terms);
  Anchored result = Anchored::free(ExpressionArena::empty);
  for (size_t i = terms.size(); i-- > 0;)
    result = joined(terms[i].part, result);
  return result;
}

/// What begins at the start of the text has nothing before it, and what ends at the end nothing
/// behind it.
RegexReader::Anchored RegexReader::joined(const Anchored &first, const Anchored &second) {
  Anchored result;
  auto emptyOf = [&](ExpressionId id) {
    return arena.nullable(id) ? ExpressionArena::empty : ExpressionArena::nothing;
  };
  for (size_t left = 0; left < first.of.size(); ++left)
    for (size_t right = 0; right < second.of.size(); ++right) {
      ExpressionId before = first.of[left], behind = second.of[right];
      if (before == ExpressionArena::nothing || behind == ExpressionArena::nothing)
        continue;
      if (right & AtStart)
        before = emptyOf(before);
      if (left & AtEnd)
        behind = emptyOf(behind);
      ExpressionId &sum = result.of[left | right];
      sum = arena.alternation(sum, arena.concatenation(before, behind));
    }
  return result;
}

RegexReader::Term RegexReader::term() {
  const size_t start = at;
  const char head = pattern[at];
  Term term{{}, start};
  if (head == '^' || head == '$') {
    ++at;
    if (quantifierAhead())
      return {refuse(start, "an anchor cannot be repeated"), start};
    term.part.of[head == '^' ? AtStart : AtEnd] = ExpressionArena::empty;
    return term;
  }
  if (head == '*' || head == '+' || head == '?' || (head == '{' && quantifierAhead()))
    return {refuse(start, "nothing to repeat before a quantifier"), start};
  const bool isLook = isLookAround(term);
  term.part = head == '(' ? group() : Anchored::free(atom());
  if (isLook && quantifierAhead())
    return {refuse(start, "a look-around cannot be repeated"), start};
  if (failure.ok() && !isLook)
    term.part = quantified(term.part, start);
  return term;
}

RegexReader::Anchored RegexReader::group() {
  const size_t start = at++;
  const Modes before = modes;
  if (take('?') && !groupHead(start))
    return {};
  if (++depth > deepestGroup)
    return refuse(start, "groups nest too deep");
  Anchored inner = disjunction();
  --depth;
  if (failure.ok() && !take(')'))
    return refuse(start, "a group without an end");
  modes = before;
  return inner;
}

/// What stands between "(?" and the group's expression; false where it is refused.
bool RegexReader::groupHead(size_t start) {
  auto refused = [&](std::string_view why) {
    refuse(start, why);
    return false;
  };
  if (take(':'))
    return true;
  if (take('=') || take('!')) // term() has looked at them.
    return true;
  if (at + 1 < pattern.size() && pattern[at] == '<' &&
      (pattern[at + 1] == '=' || pattern[at + 1] == '!')) {
    at += 2;
    return true;
  }
  if (take('P') && at < pattern.size() && pattern[at] != '<')
    return refused("no group begins like this");
  if (take('<')) {
    const size_t end = pattern.find('>', at);
    if (end == std::string_view::npos || end == at)
      return refused("a group's name without an end");
    at = end + 1;
    return true;
  }
  return modifiers() || refused("no group begins like this");
}

/// "i:", "-s:" and the like: what the group is read with.
bool RegexReader::modifiers() {
  bool value = true;
  for (; at < pattern.size(); ++at) {
    if (pattern[at] == '-' && value)
      value = false;
    else if (pattern[at] == 'i')
      modes.ignoreCase = value;
    else if (pattern[at] == 's')
      modes.dotAll = value;
    else
      return take(':');
  }
  return false;
}

/// Whether a quantifier stands next, and a brace is more than itself.
bool RegexReader::quantifierAhead() const {
  if (at >= pattern.size())
    return false;
  if (pattern[at] != '{')
    return pattern[at] == '*' || pattern[at] == '+' || pattern[at] == '?';
  size_t i = at + 1;
  auto digits = [&] {
    size_t from = i;
    while (i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9')
      ++i;
    return i > from;
  };
  if (!digits())
    return false;
  if (i < pattern.size() && pattern[i] == ',') {
    ++i;
    digits();
  }
  return i < pattern.size() && pattern[i] == '}';
}

uint32_t RegexReader::count() {
  uint64_t value = 0;
  for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9'; ++at)
    value = std::min<uint64_t>(value * 10 + uint64_t(pattern[at] - '0'), largestCount);
  return uint32_t(value);
}

RegexReader::Anchored RegexReader::quantified(Anchored operand, size_t start) {
  if (!quantifierAhead())
    return operand;
  const size_t where = at;
  uint32_t least = 0, most = ExpressionArena::unbounded;
  switch (pattern[at++]) {
  case '+':
    least = 1;
    break;
  case '?':
    most = 1;
    break;
  case '{':
    least = most = count();
    if (take(','))
      most = pattern[at] == '}' ? ExpressionArena::unbounded : count();
    ++at;
    break;
  default:
    break;
  }
  if (least > most)
    return refuse(where, "a count whose minimum is above its maximum");
  take('?'); // Lazy: of what matches, the same.
  if (quantifierAhead())
    return refuse(at, "nothing to repeat before a quantifier");
  if (operand.anchored()) {
    if (most > 1)
      return refuse(start, "a repeated group that holds an anchor");
    if (most == 0)
      operand = {};
    if (least == 0)
      operand.of[Free] = arena.optional(operand.of[Free]);
    return operand;
  }
  return Anchored::free(arena.repeat(operand.of[Free], least, most));
}

Result<ExpressionId> readRegex(ExpressionArena &arena, std::string_view pattern,
                               const RegexOptions &options) {
  return RegexReader(arena, pattern, options).read();
}

} // namespace ingot::runtime::guided
