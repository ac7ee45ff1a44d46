// SPDX-License-Identifier: Apache-2.0
// One byte at a time, so that pieces cannot matter; CallReader reads what stands within calls.
#include "runtime/chat/AnswerParser.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

/// Bytes at the end of `text` that begin a character of UTF-8 and do not end it.
size_t partialCharacter(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80)
      continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

} // namespace

AnswerParser::AnswerParser(const AnswerFamily &reasoning, const AnswerFamily &tools,
                           AnswerSettings settings)
    : reasoning(&reasoning), tools(&tools), calls(tools, std::move(settings)) {
  collectMarkers();
  readPrompt(calls.promptTail(), calls.promptEndsInWords());
}

void AnswerParser::Markers::add(std::string_view text, Role role) {
  if (text.empty() || std::ranges::find(texts, text) != texts.end())
    return;
  texts.push_back(text);
  roles.push_back(role);
}

void AnswerParser::collectMarkers() {
  atStart = later = closing = {};
  for (const CallForm &form : calls.forms()) {
    atStart.add(form.open, Role::Open);
    later.add(form.open, Role::Open);
  }
  atStart.add(reasoning->reasoningOpen, Role::Reasoning);
  if (reasoning->reasonsAnywhere)
    later.add(reasoning->reasoningOpen, Role::Reasoning);
  for (const AnswerFamily *family : {reasoning, tools})
    for (const std::string_view frame : family->frames) {
      atStart.add(frame, Role::Frame);
      if (family->framesAnywhere || frameSeen)
        later.add(frame, Role::Frame);
    }
  // Where a text begins, there is no reasoning that it could close but an empty one.
  atStart.add(reasoning->reasoningClose, Role::Close);
  closing.add(reasoning->reasoningClose, Role::Close);
  if (!calls.forms().empty())
    for (const std::string_view open : callsEndingThoughts(*tools))
      closing.add(open, Role::Open);
  if (reasoning->callsEndReasoning && reasoning->reasonsAnywhere)
    later.add(reasoning->reasoningClose, Role::Close);
}

void AnswerParser::readPrompt(std::string_view promptTail, bool endsInWords) {
  if (isThinking(*reasoning, promptTail)) {
    mode = Mode::Reasoning;
    return;
  }
  if (endsInWords)
    return;
  for (const AnswerFamily *family : {tools, reasoning}) {
    if (family->promptPrefix.empty() || !promptTail.ends_with(family->promptPrefix))
      continue;
    for (const char byte : family->promptPrefix)
      held.hold(byte);
    phantom = family->promptPrefix.size();
    return;
  }
}

void AnswerParser::feed(std::string_view piece, std::vector<AnswerEvent> &events) {
  std::string joined;
  if (!partial.empty()) {
    joined = std::exchange(partial, {}).append(piece);
    piece = joined;
  }
  const size_t kept = partialCharacter(piece);
  partial = piece.substr(piece.size() - kept);
  for (const char byte : piece.substr(0, piece.size() - kept))
    consume(byte);
  std::ranges::move(fresh, std::back_inserter(events));
  fresh.clear();
}

void AnswerParser::finish(std::vector<AnswerEvent> &events) {
  for (const char byte : std::exchange(partial, {}))
    consume(byte);
  while (mode == Mode::Call || !held.empty()) {
    if (mode == Mode::Call)
      afterCalls(calls.finish(fresh));
    else
      drain(true);
    while (!again.empty()) {
      const char byte = again.back();
      again.pop_back();
      step(byte);
    }
  }
  if (!afterCall && !space.empty())
    give(mode == Mode::Reasoning ? AnswerEvent::Kind::Reasoning : AnswerEvent::Kind::Text, space);
  space.clear();
  std::ranges::move(fresh, std::back_inserter(events));
  fresh.clear();
}

void AnswerParser::consume(char byte) {
  again.push_back(byte);
  while (!again.empty()) {
    const char next = again.back();
    again.pop_back();
    step(next);
  }
}

void AnswerParser::readAgain(std::string_view bytes) { again.append(bytes.rbegin(), bytes.rend()); }

void AnswerParser::step(char byte) {
  if (mode == Mode::Call) {
    afterCalls(calls.feed(byte, fresh));
    return;
  }
  if (beginsBareCall(byte)) {
    startCalls({});
    readAgain({&byte, 1});
    return;
  }
  held.hold(byte);
  drain(false);
}

bool AnswerParser::beginsBareCall(char byte) const {
  return mode == Mode::Text && !textBegun && held.empty() &&
         std::ranges::any_of(calls.forms(), [&](const CallForm &form) {
           return form.open.empty() && form.bare == byte;
         });
}

void AnswerParser::startCalls(std::string_view open) {
  calls.begin(open, std::exchange(space, {}).append(open));
  inReasoning = mode == Mode::Reasoning;
  mode = Mode::Call;
}

const AnswerParser::Markers &AnswerParser::current() const {
  if (mode == Mode::Reasoning)
    return closing;
  return textBegun ? later : atStart;
}

void AnswerParser::drain(bool isEnd) {
  while (true) {
    switch (held.step(current().texts, isEnd)) {
    case MarkerScanner::Result::Wait:
      return;
    case MarkerScanner::Result::Found:
      readAgain(held.take());
      found(held.marker);
      return;
    case MarkerScanner::Result::Release:
      if (mode == Mode::Reasoning)
        releaseReasoning(held.byte);
      else
        releaseText(held.byte);
    }
  }
}

void AnswerParser::found(size_t marker) {
  const Role role = current().roles[marker];
  if (role == Role::Close) {
    space.clear();
    mode = Mode::Text;
    skipLines = apart = true;
    return;
  }
  if (role == Role::Open) {
    startCalls(current().texts[marker]);
    return;
  }
  phantom = 0;
  if (role == Role::Reasoning) {
    space.clear();
    mode = Mode::Reasoning;
    reasoningBegun = false;
    return;
  }
  apart = true;
  if (!reasoning->framesAnywhere && !tools->framesAnywhere) {
    space.clear();
    skipLines = true;
  }
  if (!std::exchange(frameSeen, true))
    collectMarkers();
}

bool AnswerParser::holdsSpace() const {
  return !calls.forms().empty() || frameSeen ||
         (reasoning->hasReasoning() && (!textBegun || reasoning->reasonsAnywhere));
}

void AnswerParser::releaseText(char byte) {
  if (!isSpace(byte)) {
    if (afterCall && !textGiven)
      space.clear();
    giveText(std::exchange(space, {}) + byte);
    textBegun = true;
    afterCall = skipLines = false;
  } else if (!skipLines || byte != '\n') {
    space += byte;
    if (!holdsSpace())
      give(AnswerEvent::Kind::Text, std::exchange(space, {}));
  }
}

void AnswerParser::releaseReasoning(char byte) {
  if (byte == '\n') {
    if (reasoningBegun)
      space += byte;
    return;
  }
  if (!std::exchange(reasoningBegun, true) && std::exchange(reasoningGiven, true))
    space = '\n';
  give(AnswerEvent::Kind::Reasoning, std::exchange(space, {}) + byte);
}

void AnswerParser::afterCalls(CallReader::Result result) {
  if (result == CallReader::Result::More)
    return;
  if (inReasoning && !calls.given) { // it was no call that ends the reasoning
    mode = Mode::Reasoning;
    reasoningBegun = reasoningGiven = true;
    give(AnswerEvent::Kind::Reasoning, calls.raw);
    return readAgain(calls.rest);
  }
  mode = Mode::Text;
  textBegun = true;
  skipLines = false;
  afterCall = result == CallReader::Result::Ended;
  if (afterCall) {
    phantom = 0;
    apart = true;
  } else {
    giveText(calls.raw);
  }
  readAgain(calls.rest);
}

/// Text that follows other text after a call, say, stands on a line of its own.
void AnswerParser::giveText(std::string text) {
  if (text.empty())
    return;
  if (std::exchange(apart, false) && textGiven && !isSpace(text[0]))
    text.insert(text.begin(), '\n');
  give(AnswerEvent::Kind::Text, text);
}

void AnswerParser::give(AnswerEvent::Kind kind, std::string_view text) {
  const size_t dropped = std::min(phantom, text.size());
  phantom -= dropped;
  text.remove_prefix(dropped);
  if (text.empty())
    return;
  textGiven = textGiven || kind == AnswerEvent::Kind::Text;
  if (!fresh.empty() && fresh.back().kind == kind)
    fresh.back().text += text;
  else
    fresh.push_back({kind, 0, std::string(text), {}});
}

} // namespace ingot::runtime
