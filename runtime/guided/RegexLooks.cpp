// SPDX-License-Identifier: Apache-2.0
// Look-around as intersection: what stands behind a look-ahead is all of the text from there on,
// and what stands before a look-behind all of it up to there. So they are regular outside of
// groups.
#include "runtime/guided/RegexReader.h"

#include <algorithm>

namespace ingot::runtime::guided {

/// Whether a look-around stands next; notes in `term` which.
bool RegexReader::isLookAround(Term &term) {
  const std::string_view next = pattern.substr(at);
  using Look = Term::Look;
  for (auto [head, look, negated] : {std::tuple("(?=", Look::Ahead, false),
                                     {"(?!", Look::Ahead, true},
                                     {"(?<=", Look::Behind, false},
                                     {"(?<!", Look::Behind, true}})
    if (next.starts_with(head)) {
      term.look = look;
      term.negated = negated;
      if (depth > 0)
        refuse(at, "look-around within a group is not served");
      return true;
    }
  return false;
}

/// The texts from a place to the end that `part`, and `tail` where it may go on, match; from the
/// start of the text also what is bound to it.
ExpressionId RegexReader::toEnd(const Anchored &part, ExpressionId tail, bool fromStart) {
  ExpressionId texts = arena.alternation(arena.concatenation(part.of[Free], tail), part.of[AtEnd]);
  if (!fromStart)
    return texts;
  return arena.alternation(
      {texts, arena.concatenation(part.of[AtStart], tail), part.of[AtStart | AtEnd]});
}

ExpressionId RegexReader::held(ExpressionId texts, const Term &look, ExpressionId looked) {
  return look.negated ? arena.difference(texts, looked) : arena.intersection(texts, looked);
}

/// Not at the start of the text, or not known to be there.
RegexReader::Anchored RegexReader::aheadOf(const Term &look, const Anchored &rest) {
  for (const Anchored *part : {&look.part, &rest})
    if (part->of[AtStart] || part->of[AtStart | AtEnd])
      return refuse(look.place, "an anchor of the start behind a look-ahead is not served");
  const ExpressionId tail = options.search ? anyCharacter : ExpressionId(ExpressionArena::empty);
  Anchored result;
  result.of[AtEnd] = held(toEnd(rest, tail, false), look, toEnd(look.part, anyCharacter, false));
  return result;
}

RegexReader::Anchored RegexReader::behind(const Anchored &before, const Term &look) {
  for (const Anchored *part : {&look.part, &before})
    if (part->of[AtEnd] || part->of[AtStart | AtEnd])
      return refuse(look.place, "an anchor of the end before a look-behind is not served");
  const ExpressionId head = options.search ? anyCharacter : ExpressionId(ExpressionArena::empty);
  auto fromStart = [&](const Anchored &part, ExpressionId first) {
    return arena.alternation(arena.concatenation(first, part.of[Free]), part.of[AtStart]);
  };
  Anchored result;
  result.of[AtStart] = held(fromStart(before, head), look, fromStart(look.part, anyCharacter));
  return result;
}

/// An alternative that is in no group. Look-aheads at the start of the text hold for all of it.
RegexReader::Anchored RegexReader::withLooks(std::span<const Term> terms) {
  Anchored caret = Anchored::free(ExpressionArena::empty);
  size_t begin = 0;
  for (; begin < terms.size() && terms[begin].look == Term::Look::None &&
         terms[begin].part.of[AtStart] == ExpressionArena::empty && !terms[begin].part.of[Free];
       ++begin)
    caret = terms[begin].part;
  const bool atStart = begin > 0 || !options.search;
  size_t looks = begin;
  while (atStart && begin < terms.size() && terms[begin].look == Term::Look::Ahead)
    ++begin;
  const std::span<const Term> rest = terms.subspan(begin);
  auto first = [&](Term::Look look) { return std::ranges::find(rest, look, &Term::look); };
  const bool hasBehind = first(Term::Look::Behind) != rest.end();
  if (auto ahead = first(Term::Look::Ahead); hasBehind && ahead != rest.end())
    return refuse(ahead->place, "look-ahead beside look-behind is not served");
  Anchored result = hasBehind ? caret : Anchored::free(ExpressionArena::empty);
  for (const Term &term : rest)
    if (hasBehind)
      result = term.look == Term::Look::None ? joined(result, term.part) : behind(result, term);
  for (size_t i = rest.size(); i-- > 0 && !hasBehind;)
    result =
        rest[i].look == Term::Look::None ? joined(rest[i].part, result) : aheadOf(rest[i], result);
  if (!hasBehind)
    result = joined(caret, result);
  if (looks == begin)
    return result;
  const ExpressionId tail = options.search ? anyCharacter : ExpressionId(ExpressionArena::empty);
  ExpressionId texts = toEnd(result, tail, true);
  for (; looks < begin; ++looks)
    texts = held(texts, terms[looks], toEnd(terms[looks].part, anyCharacter, true));
  Anchored whole;
  whole.of[AtStart | AtEnd] = texts;
  return whole;
}

} // namespace ingot::runtime::guided
