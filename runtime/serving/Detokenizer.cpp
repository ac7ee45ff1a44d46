// SPDX-License-Identifier: Apache-2.0
// Turns ids into text one by one, for streaming: what it returns is always complete UTF-8, and the
// parts together are exactly what Tokenizer::decode gives for all ids at once.
#include "runtime/serving/Detokenizer.h"

#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Tokenizer.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr std::string_view replacementCharacter = "\xEF\xBF\xBD";

/// Appends `text` to `out` with every `pattern` replaced; returns the offset behind the last match.
size_t replaceAll(std::string_view text, const DecodeStep &step, std::string &out) {
  size_t done = 0;
  for (size_t at = text.find(step.pattern); at != text.npos; at = text.find(step.pattern, done)) {
    out += text.substr(done, at - done);
    out += step.content;
    done = at + step.pattern.size();
  }
  return done;
}

/// How many bytes at the end of `text` could begin `pattern`.
size_t unfinishedMatch(std::string_view text, std::string_view pattern) {
  size_t length = std::min(text.size(), pattern.size() - 1);
  while (length > 0 && !pattern.starts_with(text.substr(text.size() - length)))
    --length;
  return length;
}

const std::vector<DecodeStep> &cleanUpSteps() {
  auto replace = [](const char *pattern, const char *content) {
    return DecodeStep{DecodeStep::Replace, pattern, content, 0, 0, false};
  };
  static const std::vector<DecodeStep> steps = {
      replace(" .", "."),     replace(" ?", "?"),     replace(" !", "!"),   replace(" ,", ","),
      replace(" ' ", "'"),    replace(" n't", "n't"), replace(" 'm", "'m"), replace(" 's", "'s"),
      replace(" 've", "'ve"), replace(" 're", "'re")};
  return steps;
}

} // namespace

Detokenizer::Detokenizer(const Tokenizer &tokenizer, DecodeOptions options)
    : tokenizer(&tokenizer), options(options) {
  bool fused = false;
  for (const DecodeStep &step : tokenizer.decodeSteps()) {
    if (step.kind != DecodeStep::Fuse)
      stages.push_back({&step, fused});
    fused |= step.kind == DecodeStep::Fuse || step.kind == DecodeStep::ByteLevel;
  }
  if (options.cleanUpSpaces)
    for (const DecodeStep &step : cleanUpSteps())
      stages.push_back({&step, true});
}

void Detokenizer::follow(std::span<const int32_t> prompt) {
  for (int32_t id : prompt)
    push(id);
  for (State &state : stages) {
    bool holdsBytes =
        state.step->kind == DecodeStep::ByteLevel || state.step->kind == DecodeStep::ByteFallback;
    if (!holdsBytes)
      state.held.clear();
    state.followed = state.held.size();
  }
}

std::string Detokenizer::push(int32_t id) {
  bool skipped = options.skipSpecial && tokenizer->isSpecial(id) &&
                 std::find(options.kept.begin(), options.kept.end(), id) == options.kept.end();
  earlierCharacters = 0;
  for (const State &state : stages)
    if (state.step->kind == DecodeStep::Replace)
      earlierCharacters += countCharacters(state.held);
  if (tokenizer->hasPiece(id) && !skipped)
    feed(0, tokenizer->piece(id));
  return std::exchange(out, {});
}

std::string Detokenizer::finish() {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    flush(stage);
    stages[stage] = {stages[stage].step, stages[stage].fused};
  }
  return std::exchange(out, {});
}

void Detokenizer::feed(size_t stage, std::string_view text) {
  if (stage == stages.size()) {
    out += text;
    return;
  }
  switch (stages[stage].step->kind) {
  case DecodeStep::ByteLevel:
    return feedByteLevel(stage, text);
  case DecodeStep::ByteFallback:
    return feedByteFallback(stage, text);
  case DecodeStep::Strip:
    return feedStrip(stage, text);
  case DecodeStep::Replace:
    return feedReplace(stage, text);
  case DecodeStep::Metaspace:
    return feedMetaspace(stage, text);
  case DecodeStep::Fuse:
    return;
  }
}

void Detokenizer::flush(size_t stage) {
  State &state = stages[stage];
  switch (state.step->kind) {
  case DecodeStep::ByteLevel:
    if (state.held.size() > state.followed)
      feed(stage + 1, replacementCharacter);
    break;
  case DecodeStep::ByteFallback:
    for (size_t i = state.followed; i < state.held.size(); ++i)
      feed(stage + 1, replacementCharacter);
    break;
  case DecodeStep::Replace:
    if (!state.held.empty())
      feed(stage + 1, state.held);
    break;
  default: // Strip drops what it holds; the others hold nothing.
    break;
  }
  state.held.clear();
  state.followed = 0;
}

/// Adds bytes to those that are held back, and passes on what became whole characters, or can
/// become none.
void Detokenizer::takeBytes(size_t stage, std::string_view bytes, bool everyByte) {
  State &state = stages[stage];
  std::string &held = state.held;
  const size_t before = held.size();
  held += bytes;
  std::string text;
  size_t offset = 0;
  while (offset < held.size()) {
    const std::string_view rest = std::string_view(held).substr(offset);
    const Utf8Sequence sequence = classifyUtf8(rest);
    if (sequence.kind == Utf8Sequence::Partial)
      break;
    // What of a bad sequence the prompt left is not this text's.
    size_t bad = sequence.length - std::min(sequence.length, state.followed);
    state.followed -= std::min(sequence.length, state.followed);
    if (sequence.kind == Utf8Sequence::Complete)
      text += rest.substr(0, sequence.length);
    else
      for (size_t i = 0; i < (everyByte ? bad : std::min<size_t>(bad, 1)); ++i) {
        text += replacementCharacter;
        earlierCharacters += offset + sequence.length - bad + i < before;
      }
    offset += sequence.length;
  }
  held.erase(0, offset);
  if (!text.empty())
    feed(stage + 1, text);
}

void Detokenizer::feedByteLevel(size_t stage, std::string_view piece) {
  takeBytes(stage, bytesOfSpelling(piece), /*everyByte=*/false);
}

void Detokenizer::feedByteFallback(size_t stage, std::string_view piece) {
  const int byte = byteOfPiece(piece);
  if (byte < 0) {
    earlierCharacters += stages[stage].held.size() - stages[stage].followed;
    flush(stage);
    feed(stage + 1, piece);
    return;
  }
  const char character = static_cast<char>(byte);
  takeBytes(stage, {&character, 1}, /*everyByte=*/true);
}

void Detokenizer::feedStrip(size_t stage, std::string_view text) {
  State &state = stages[stage];
  const DecodeStep &step = *state.step;
  const std::string_view character = step.pattern;
  if (!state.fused) { // every piece is a text of its own
    state.stripped = 0;
    state.held.clear();
  }
  while (state.stripped < step.start && text.starts_with(character)) {
    text.remove_prefix(character.size());
    ++state.stripped;
  }
  if (text.empty())
    return;
  state.stripped = step.start;
  std::string all = std::exchange(state.held, {}).append(text);
  size_t end = all.size();
  for (uint32_t i = 0; i < step.stop; ++i) {
    if (!std::string_view(all).substr(0, end).ends_with(character))
      break;
    end -= character.size();
  }
  state.held.assign(all, end);
  all.resize(end);
  if (!all.empty())
    feed(stage + 1, all);
}

void Detokenizer::feedReplace(size_t stage, std::string_view text) {
  State &state = stages[stage];
  const std::string before = std::exchange(state.held, {});
  std::string all = before;
  all += text;
  // What is replaced together with new text is no longer before it.
  if (const size_t match = std::min(all.find(state.step->pattern), before.size());
      match < before.size())
    earlierCharacters -= countCharacters(std::string_view(before).substr(match));
  std::string replaced;
  const std::string_view rest =
      std::string_view(all).substr(replaceAll(all, *state.step, replaced));
  const size_t held = state.fused ? unfinishedMatch(rest, state.step->pattern) : 0;
  replaced += rest.substr(0, rest.size() - held);
  state.held = rest.substr(rest.size() - held);
  if (!replaced.empty())
    feed(stage + 1, replaced);
}

void Detokenizer::feedMetaspace(size_t stage, std::string_view piece) {
  State &state = stages[stage];
  const bool drop = std::exchange(state.first, false) && !state.step->keepFirst;
  const DecodeStep step{DecodeStep::Replace, state.step->pattern, drop ? "" : " ", 0, 0, false};
  std::string text;
  text += piece.substr(replaceAll(piece, step, text));
  if (!text.empty())
    feed(stage + 1, text);
}

} // namespace ingot::runtime
