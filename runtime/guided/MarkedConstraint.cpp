// SPDX-License-Identifier: Apache-2.0
// Markers are followed beside the form until one of the two is ruled out.
#include "runtime/guided/MarkedConstraint.h"

#include <algorithm>

namespace ingot::runtime::guided {

static void setBit(std::span<uint32_t> words, uint32_t token, bool isSet) {
  const uint32_t bit = 1u << (token % 32);
  words[token / 32] = isSet ? words[token / 32] | bit : words[token / 32] & ~bit;
}

SpelledTokens::SpelledTokens(std::vector<std::string> given, const std::vector<bool> &isSpecial)
    : texts(std::move(given)) {
  for (uint32_t token = 0; token < texts.size(); ++token)
    if (!texts[token].empty())
      (isSpecial[token] ? special : plain)[texts[token]].push_back(token);
}

std::vector<uint32_t> SpelledTokens::next(std::string_view text) const {
  for (size_t size = text.size(); size > 0; --size)
    if (const auto found = special.find(text.substr(0, size)); found != special.end())
      return found->second;
  if (const auto found = plain.find(text); found != plain.end())
    return found->second;
  std::vector<uint32_t> all;
  for (size_t size = 1; size <= text.size(); ++size)
    if (const auto found = plain.find(text.substr(0, size)); found != plain.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
  return all;
}

/// Whether some end of `marker`, or all of it, stands in `text` with more behind it.
static bool mayPass(std::string_view text, std::string_view marker) {
  if (const size_t at = text.find(marker); at != text.npos && at + marker.size() < text.size())
    return true;
  for (size_t begin = 1; begin < marker.size(); ++begin) {
    const std::string_view end = marker.substr(begin);
    if (end.size() < text.size() && text.starts_with(end))
      return true;
  }
  return false;
}

std::shared_ptr<const std::vector<uint32_t>>
SpelledTokens::passing(const std::string &marker) const {
  std::lock_guard lock(guard);
  std::shared_ptr<const std::vector<uint32_t>> &known = passed[marker];
  if (!known) {
    std::vector<uint32_t> found;
    for (uint32_t token = 0; token < texts.size(); ++token)
      if (mayPass(texts[token], marker))
        found.push_back(token);
    known = std::make_shared<const std::vector<uint32_t>>(std::move(found));
  }
  return known;
}

uint64_t SpelledTokens::within(std::span<const int32_t> before, size_t bytes) const {
  uint64_t count = 0;
  for (; count < before.size(); ++count) {
    const size_t size = text(uint32_t(before[before.size() - 1 - count])).size();
    if (size == 0 || size > bytes)
      break;
    bytes -= size;
  }
  return count;
}

MarkedConstraint::MarkedConstraint(std::unique_ptr<TokenConstraint> given, AnswerMarkers around,
                                   std::shared_ptr<const SpelledTokens> spelled,
                                   std::vector<int32_t> stopTokens)
    : answer(std::move(given)), close(std::move(around.close)), mayReopen(around.mayReopen),
      mostThought(around.mostThought), tokens(std::move(spelled)),
      stopTokens(std::move(stopTokens)) {
  if (!close.empty()) {
    passing = tokens->passing(close);
    failure.assign(close.size() + 1, 0);
    for (size_t i = 1; i < close.size(); ++i)
      failure[i + 1] = closing(failure[i], close[i]);
  }
  addMarker(std::move(around.open), Kind::Thought);
  for (std::string &call : around.calls)
    addMarker(std::move(call), Kind::Call);
  for (std::string &frame : around.frames)
    addMarker(std::move(frame), Kind::Frame);
  // Between a thought and the answer templates put line breaks, which answers are read without.
  for (const char *lines : {"\n", "\n\n"})
    addMarker(close.empty() ? "" : lines, Kind::Lines);
  Place first;
  if (around.isOpen) {
    first.phase = Phase::Thinking;
    first.inAnswer = false;
  } else {
    startMarkers(first, false);
    if (!markers.empty() && markers[0].kind == Kind::Thought && !mayReopen && mostThought > 0)
      first.partials.push_back({0, 0});
    for (uint32_t i = 0; i < markers.size(); ++i)
      if (!around.promptEnd.empty() && markers[i].text.starts_with(around.promptEnd) &&
          markers[i].text != around.promptEnd)
        first.partials.push_back({i, uint32_t(around.promptEnd.size())});
  }
  places.push_back(std::move(first));
}

void MarkedConstraint::addMarker(std::string text, Kind kind) {
  if (!text.empty() && std::ranges::find(markers, text, &Marker::text) == markers.end())
    markers.push_back({std::move(text), kind});
}

bool MarkedConstraint::stops(int32_t token) const {
  return std::ranges::find(stopTokens, token) != stopTokens.end();
}

std::string_view MarkedConstraint::rest(const Partial &partial) const {
  return std::string_view(markers[partial.marker].text).substr(partial.bytes);
}

/// The markers that may begin here, where a frame comes once.
void MarkedConstraint::startMarkers(Place &place, bool behindThought) const {
  place.partials.clear();
  for (uint32_t i = 0; i < markers.size(); ++i) {
    const Kind kind = markers[i].kind;
    const bool isHere = kind == Kind::Thought ? mayReopen && place.thought < mostThought
                        : kind == Kind::Lines ? behindThought
                                              : !(place.seen >> (i % 32) & 1);
    if (isHere)
      place.partials.push_back({i, 0});
  }
}

/// How much of the closing marker has come, with one byte more.
uint32_t MarkedConstraint::closing(uint32_t matched, char byte) const {
  while (matched > 0 && (matched == close.size() || close[matched] != byte))
    matched = failure[matched];
  return matched < close.size() && close[matched] == byte ? matched + 1 : 0;
}

/// Goes on with a thought by a token, which is counted until it is known to be of the closing
/// marker; false where that would end within it.
bool MarkedConstraint::think(Place &place, std::string_view text) const {
  ++place.thought;
  for (size_t i = 0; i < text.size(); ++i) {
    place.matched = closing(place.matched, text[i]);
    if (place.matched < close.size())
      continue;
    if (i + 1 < text.size())
      return false;
    if (text.size() <= close.size())
      place.thought -= 1 + tokens->within(accepted, close.size() - text.size());
    place = {.begin = accepted.size() + 1, .thought = place.thought};
    startMarkers(place, true);
    return true;
  }
  return true;
}

/// The tokens that go on with the closing marker of a thought that has come to its limit; none
/// where it has not, or where no token does.
std::vector<uint32_t> MarkedConstraint::forced(const Place &place) const {
  if (place.phase != Phase::Thinking || place.thought < mostThought)
    return {};
  std::vector<uint32_t> next = tokens->next(std::string_view(close).substr(place.matched));
  std::erase_if(next, [&](uint32_t token) { return stops(int32_t(token)); });
  return next;
}

bool MarkedConstraint::mayThink(const Place &place, int32_t token) const {
  if (stops(token))
    return false;
  const std::vector<uint32_t> next = forced(place);
  return next.empty() || std::ranges::find(next, uint32_t(token)) != next.end();
}

/// Behind the end of a marker.
void MarkedConstraint::pass(Place &place, Kind kind, uint32_t marker) const {
  if (kind == Kind::Thought) {
    place = {.phase = Phase::Thinking,
             .inAnswer = false,
             .begin = place.begin,
             .thought = place.thought};
  } else if (kind == Kind::Call) {
    place = {.phase = Phase::Free, .inAnswer = false, .begin = place.begin};
  } else {
    place = {.seen = place.seen, .begin = accepted.size() + 1, .thought = place.thought};
    if (kind == Kind::Frame)
      place.seen |= 1u << (marker % 32);
    startMarkers(place, false);
  }
}

bool MarkedConstraint::mayFollow(const Partial &partial, uint32_t token) const {
  const std::vector<uint32_t> next = tokens->next(rest(partial));
  return std::ranges::find(next, token) != next.end();
}

/// Goes on where the answer, a marker or both may be under way.
bool MarkedConstraint::goOn(Place &place, int32_t token) {
  std::vector<Partial> partials;
  const Partial *whole = nullptr;
  for (const Partial &partial : place.partials) {
    if (stops(token) || !mayFollow(partial, uint32_t(token)))
      continue;
    partials.push_back(
        {partial.marker, partial.bytes + uint32_t(tokens->text(uint32_t(token)).size())});
  }
  for (const Partial &partial : partials)
    if (rest(partial).empty() &&
        (!whole || markers[partial.marker].kind < markers[whole->marker].kind))
      whole = &partial;
  if (whole) {
    // A longer marker with the same beginning may still come.
    const uint32_t marker = whole->marker;
    std::vector<Partial> longer;
    std::ranges::copy_if(partials, std::back_inserter(longer),
                         [&](const Partial &partial) { return !rest(partial).empty(); });
    answer->rollback(answer->length());
    pass(place, markers[marker].kind, marker);
    if (place.phase == Phase::Before)
      place.partials.insert(place.partials.end(), longer.begin(), longer.end());
    return true;
  }
  place.inAnswer = place.inAnswer && answer->accept(token);
  place.partials = std::move(partials);
  if (place.partials.empty())
    place.phase = Phase::Answer;
  return place.inAnswer || !place.partials.empty();
}

bool MarkedConstraint::accept(int32_t token) {
  if (token < 0)
    return false;
  Place place = places.back();
  const bool isKnown = size_t(token) < tokens->size();
  bool isTaken = false;
  switch (place.phase) {
  case Phase::Ended:
    break;
  case Phase::Thinking:
    isTaken = isKnown && mayThink(place, token) && think(place, tokens->text(uint32_t(token)));
    break;
  case Phase::Free:
    isTaken = isKnown;
    if (stops(token))
      place.phase = Phase::Ended;
    break;
  case Phase::Answer:
    isTaken = answer->accept(token);
    break;
  case Phase::Before:
    isTaken = isKnown && goOn(place, token);
    break;
  }
  if (!isTaken)
    return false;
  accepted.push_back(token);
  places.push_back(std::move(place));
  return true;
}

/// Has `answer` where it was at `place`, from where it is now.
void MarkedConstraint::bringBack(const Place &place) {
  answer->rollback(answer->length());
  for (size_t i = place.begin; place.inAnswer && i < accepted.size(); ++i)
    answer->accept(accepted[i]);
}

void MarkedConstraint::rollback(size_t count) {
  count = std::min(count, length());
  if (count == 0)
    return;
  const Place last = places.back();
  accepted.resize(accepted.size() - count);
  places.resize(places.size() - count);
  const Place &place = places.back();
  if (last.inAnswer && place.inAnswer && last.begin == place.begin)
    answer->rollback(count);
  else
    bringBack(place);
}

Status MarkedConstraint::mask(std::span<uint32_t> words) {
  const Place &place = places.back();
  if (place.phase == Phase::Answer)
    return answer->mask(words);
  std::ranges::fill(words, 0);
  if (place.phase == Phase::Ended)
    return Status::success();
  if (place.phase == Phase::Before) {
    if (place.inAnswer)
      if (Status status = answer->mask(words); !status.ok())
        return status;
    for (const Partial &partial : place.partials)
      for (const uint32_t token : tokens->next(rest(partial)))
        if (!stops(int32_t(token)))
          setBit(words, token, true);
    return Status::success();
  }
  if (const std::vector<uint32_t> next = forced(place); !next.empty()) {
    for (const uint32_t token : next)
      setBit(words, token, true);
    return Status::success();
  }
  const size_t whole = tokens->size() / 32;
  std::ranges::fill(words.first(whole), ~0u);
  for (size_t token = whole * 32; token < tokens->size(); ++token)
    setBit(words, uint32_t(token), true);
  if (place.phase == Phase::Free)
    return Status::success();
  for (const int32_t token : stopTokens)
    setBit(words, uint32_t(token), false);
  for (const uint32_t token : *passing) {
    Place after = place;
    if (!think(after, tokens->text(token)))
      setBit(words, token, false);
  }
  return Status::success();
}

bool MarkedConstraint::mayEnd() const {
  const Place &place = places.back();
  if (place.phase == Phase::Free || place.phase == Phase::Ended)
    return true;
  return place.phase != Phase::Thinking && place.inAnswer && answer->mayEnd();
}

bool MarkedConstraint::insists() const { return mustEnd() || !forced(places.back()).empty(); }

bool MarkedConstraint::mustEnd() const {
  const Place &place = places.back();
  return place.phase == Phase::Ended || (place.phase == Phase::Answer && answer->mustEnd());
}

} // namespace ingot::runtime::guided
