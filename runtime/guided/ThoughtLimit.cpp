// SPDX-License-Identifier: Apache-2.0
// Where thoughts begin and end is told as AnswerParser tells it.
#include "runtime/guided/ThoughtLimit.h"

#include <algorithm>

namespace ingot::runtime::guided {

ThoughtLimit::Sought::Sought(std::string given) : text(std::move(given)) {
  failure.assign(text.size() + 1, 0);
  for (uint32_t i = 1; i < text.size(); ++i)
    failure[i + 1] = next(failure[i], text[i]);
}

/// How much of it has come, with one byte more.
uint32_t ThoughtLimit::Sought::next(uint32_t matched, char byte) const {
  while (matched > 0 && (matched == text.size() || text[matched] != byte))
    matched = failure[matched];
  return matched < text.size() && text[matched] == byte ? matched + 1 : 0;
}

ThoughtLimit::ThoughtLimit(AnswerMarkers markers, std::shared_ptr<const SpelledTokens> spelled)
    : open(std::move(markers.open)), mayReopen(markers.mayReopen), most(markers.mostThought),
      tokens(std::move(spelled)) {
  ends.emplace_back(std::move(markers.close));
  for (std::string &call : markers.calls)
    ends.emplace_back(std::move(call));
  for (uint32_t token = 0; token < tokens->size(); ++token)
    if (tokens->text(token).find(open.text) != std::string_view::npos)
      opening.push_back(token);
  Place first;
  if (markers.isOpen)
    first = {.phase = Phase::Thinking, .matched = std::vector<uint32_t>(ends.size())};
  else if (open.text.starts_with(markers.promptEnd) && open.text != markers.promptEnd)
    first.matched[0] = uint32_t(markers.promptEnd.size());
  places.push_back(std::move(first));
}

/// The tokens that may come where a thought has come to its limit; none where it has not.
std::vector<uint32_t> ThoughtLimit::forced(const Place &place) const {
  if (place.phase != Phase::Thinking || place.thought < most)
    return {};
  return tokens->next(std::string_view(ends[0].text).substr(place.matched[0]));
}

/// Whether a token would begin a thought of which nothing is left. One that begins within several
/// tokens may, and ends at once: models go on with its first ones by that alone.
bool ThoughtLimit::isRefused(const Place &place, int32_t token) const {
  if (place.phase == Phase::Outside && place.thought >= most)
    return std::ranges::binary_search(opening, uint32_t(token));
  const std::vector<uint32_t> next = forced(place);
  return !next.empty() && std::ranges::find(next, uint32_t(token)) == next.end();
}

void ThoughtLimit::end(Place &place, bool byCall) const {
  place.phase = byCall && !mayReopen ? Phase::Done : Phase::Outside;
  place.matched = {0};
}

/// Looks for the next thought.
void ThoughtLimit::look(Place &place, char byte) const {
  constexpr std::string_view space = " \t\n\r\v\f";
  uint32_t &matched = place.matched[0];
  const uint32_t before = matched;
  matched = open.next(matched, byte);
  if (open.isWhole(matched))
    place = {.phase = Phase::Thinking,
             .matched = std::vector<uint32_t>(ends.size()),
             .thought = place.thought};
  else if (!mayReopen && matched <= before && (before > 0 || space.find(byte) == space.npos))
    place.phase = Phase::Done;
}

/// Goes on by a token. It is counted until it is known to be of the closing marker.
void ThoughtLimit::follow(Place &place, std::string_view text) const {
  if (place.phase == Phase::Thinking)
    ++place.thought;
  for (size_t i = 0; i < text.size(); ++i) {
    if (place.phase == Phase::Outside) {
      look(place, text[i]);
      continue;
    }
    for (size_t k = 0; k < ends.size() && place.phase == Phase::Thinking; ++k) {
      place.matched[k] = ends[k].next(place.matched[k], text[i]);
      if (!ends[k].isWhole(place.matched[k]))
        continue;
      const size_t bytes = ends[k].text.size();
      const bool isOfMarker = i + 1 == text.size() && text.size() <= bytes;
      const uint64_t of = tokens->within(accepted, bytes - std::min(bytes, i + 1)) + isOfMarker;
      place.thought -= std::min(place.thought, of);
      end(place, k > 0);
    }
  }
}

bool ThoughtLimit::accept(int32_t token) {
  if (token < 0 || size_t(token) >= tokens->size())
    return false;
  Place place = places.back();
  if (isRefused(place, token))
    return false;
  follow(place, tokens->text(uint32_t(token)));
  accepted.push_back(token);
  places.push_back(std::move(place));
  return true;
}

void ThoughtLimit::rollback(size_t count) {
  count = std::min(count, length());
  accepted.resize(accepted.size() - count);
  places.resize(places.size() - count);
}

uint64_t ThoughtLimit::slack() const {
  const Place &place = places.back();
  switch (place.phase) {
  case Phase::Done:
    return forever;
  case Phase::Thinking:
    return place.thought < most ? most - place.thought : forced(place).empty();
  case Phase::Outside:
    break;
  }
  if (place.thought < most)
    return most - place.thought + 1;
  // What begins within several tokens takes two at least.
  return opening.empty() ? 1 + (place.matched[0] == 0) : 0;
}

Status ThoughtLimit::mask(std::span<uint32_t> words) {
  const Place &place = places.back();
  std::ranges::fill(words, 0);
  if (const std::vector<uint32_t> next = forced(place); !next.empty()) {
    for (const uint32_t token : next)
      words[token / 32] |= 1u << (token % 32);
    return Status::success();
  }
  for (uint32_t token = 0; token < tokens->size(); ++token)
    words[token / 32] |= 1u << (token % 32);
  if (place.phase == Phase::Outside && place.thought >= most)
    for (const uint32_t token : opening)
      words[token / 32] &= ~(1u << (token % 32));
  return Status::success();
}

} // namespace ingot::runtime::guided
