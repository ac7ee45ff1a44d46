// SPDX-License-Identifier: Apache-2.0
// From a family's opening marker to its closing one. How single calls are written is in
// CallArguments.cpp.
#include "runtime/chat/CallReader.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr size_t longestName = 256;
constexpr size_t longestOther = 512;

/// Whether calls of a form may begin with a byte, where its marker is that of another form too.
bool mayBegin(const CallForm &form, char byte) {
  if (form.isList)
    return byte == '[';
  if (form.arguments == ArgumentForm::JsonCall)
    return byte == '{';
  return isNameByte(byte);
}

} // namespace

void CallReader::begin(std::string_view open, std::string before) {
  raw = std::move(before);
  rest.clear();
  candidates.clear();
  for (const CallForm &candidate : family->forms)
    if (candidate.open == open)
      candidates.push_back(&candidate);
  held.take();
  between = given = false;
  begun = complete = false;
  state = State::Choose;
}

CallReader::Result CallReader::feed(char byte, std::vector<AnswerEvent> &out) {
  events = &out;
  raw += byte;
  Step taken = Step::Again;
  while (taken == Step::Again)
    taken = step(byte);
  if (taken == Step::Taken)
    return Result::More;
  if (taken == Step::Failed && rest.empty())
    rest = byte;
  raw.erase(raw.size() - std::min(rest.size(), raw.size()));
  if (taken == Step::Failed) {
    fail();
    return Result::Failed;
  }
  raw.clear();
  return Result::Ended;
}

CallReader::Result CallReader::finish(std::vector<AnswerEvent> &out) {
  events = &out;
  rest.clear();
  if (state == State::Expect && complete)
    endCall();
  else if (state != State::Expect || !between) {
    isCut = begun || (!candidates.empty() && !candidates[0]->open.empty());
    // A call that was given out in part stays one: no part of it becomes text.
    if (begun && !isHeld()) {
      giveUnfinished();
      raw.clear();
    }
    fail();
    return Result::Failed;
  }
  raw.clear();
  return Result::Ended;
}

CallReader::Step CallReader::step(char byte) {
  switch (state) {
  case State::Choose:
    return choose(byte);
  case State::Expect:
    return inExpected(byte);
  case State::Name:
  case State::Id:
    return inName(byte);
  case State::Other:
    return inOther(byte);
  case State::Arguments:
    return inArguments(byte);
  case State::MemberKey:
    return inMemberKey(byte);
  case State::MemberValue:
    return inMemberValue(byte);
  case State::Tag:
    return inTag(byte);
  case State::Value:
    return inValue(byte);
  }
  return Step::Failed;
}

CallReader::Step CallReader::choose(char byte) {
  if (isSpace(byte))
    return Step::Taken;
  const auto found = std::ranges::find_if(candidates, [&](const CallForm *candidate) {
    return candidates.size() == 1 || mayBegin(*candidate, byte);
  });
  if (found == candidates.end())
    return Step::Failed;
  form = *found;
  if (!form->isList) {
    startCall();
    return Step::Again;
  }
  expect({{"[", Then::Call}});
  return Step::Again;
}

void CallReader::expect(std::initializer_list<Wanted> markers, bool otherEnds) {
  wanted.clear();
  std::ranges::copy_if(markers, std::back_inserter(wanted),
                       [](const Wanted &marker) { return !marker.text.empty(); });
  orEnd = otherEnds;
  state = State::Expect;
}

CallReader::Step CallReader::inExpected(char byte) {
  const auto begins = [&](const Wanted &marker) { return marker.text[0] == byte; };
  if (isSpace(byte) && held.empty() && std::ranges::none_of(wanted, begins))
    return Step::Taken;
  std::array<std::string_view, 4> texts;
  const size_t count = std::min(wanted.size(), texts.size());
  for (size_t i = 0; i < count; ++i)
    texts[i] = wanted[i].text;
  held.hold(byte);
  switch (held.step(std::span(texts).first(count))) {
  case MarkerScanner::Result::Wait:
    return Step::Taken;
  case MarkerScanner::Result::Found:
    return go(wanted[held.marker]);
  case MarkerScanner::Result::Release:
    break;
  }
  rest = held.byte + held.take();
  return orEnd ? Step::Ended : Step::Failed;
}

CallReader::Step CallReader::go(const Wanted &marker) {
  // `wanted`, which the marker is of, is filled anew below.
  const auto [text, then, head] = marker;
  between = false;
  switch (then) {
  case Then::Call:
    return startCall();
  case Then::Head:
    return startHead(head);
  case Then::Members:
    expect({{"\"", Then::Member}, {"}", Then::ObjectEnd}});
    return Step::Taken;
  case Then::Member:
    return startMember();
  case Then::NextMember:
    expect({{"\"", Then::Member}});
    return Step::Taken;
  case Then::MemberValue:
    return startMemberValue();
  case Then::ObjectEnd:
    return endObject();
  case Then::Tag:
    return startTag();
  case Then::Value:
    return startValue();
  case Then::CallClose:
    expect({{form->callClose, Then::CallEnd}});
    return Step::Taken;
  case Then::CallEnd:
    return endCall();
  case Then::ListEnd:
    return endList();
  case Then::SectionEnd:
    return Step::Ended;
  }
  return Step::Failed;
}

CallReader::Step CallReader::startCall() {
  if (form->callOpen.empty())
    return startHead(0);
  expect({{form->callOpen, Then::Head}});
  return Step::Taken;
}

void CallReader::forgetCall() {
  begun = complete = isMuted = hasArguments = false;
  name.clear();
  id.clear();
  arguments.clear();
  tool = -1;
  isFirst = true;
}

CallReader::Step CallReader::startHead(size_t next) {
  if (next == 0)
    forgetCall();
  part = next;
  text.clear();
  const HeadPart::Kind kind =
      next < form->head.size() ? form->head[next].kind : HeadPart::Kind::None;
  switch (kind) {
  case HeadPart::Kind::None:
    return startArguments();
  case HeadPart::Kind::Name:
    state = State::Name;
    break;
  case HeadPart::Kind::Id:
    state = State::Id;
    break;
  case HeadPart::Kind::Other:
    state = State::Other;
    break;
  }
  return Step::Taken;
}

CallReader::Step CallReader::inName(char byte) {
  if (isSpace(byte) && text.empty())
    return Step::Taken;
  if (!isNameByte(byte))
    return endName();
  text += byte;
  return text.size() > longestName ? Step::Failed : Step::Taken;
}

CallReader::Step CallReader::endName() {
  if (text.empty())
    return Step::Failed;
  std::string_view called = text;
  const bool isNamed = std::ranges::any_of(
      form->head, [](const HeadPart &one) { return one.kind == HeadPart::Kind::Name; });
  if (state == State::Id) {
    id = text;
    // An identifier that stands for the name: the name, and the number of the call.
    const size_t colon = called.rfind(':');
    if (colon != std::string_view::npos)
      called = called.substr(0, colon);
  }
  if (state == State::Name || !isNamed) {
    if (called.starts_with(family->namePrefix))
      called.remove_prefix(family->namePrefix.size());
    name = called;
    if (name.empty())
      return Step::Failed;
  }
  if (form->head[part].end.empty())
    startHead(part + 1);
  else if (part == 0)
    expect({{form->head[0].end, Then::Head, 1}, {form->head[1].end, Then::Head, 2}});
  else
    expect({{form->head[1].end, Then::Head, 2}});
  return Step::Again;
}

CallReader::Step CallReader::inOther(char byte) {
  text += byte;
  if (text.ends_with(form->head[part].end))
    return startHead(part + 1);
  return text.size() > longestOther ? Step::Failed : Step::Taken;
}

CallReader::Step CallReader::afterArguments() {
  complete = begun;
  if (!form->argumentsClose.empty())
    expect({{form->argumentsClose, Then::CallClose}});
  else if (!form->callClose.empty())
    expect({{form->callClose, Then::CallEnd}});
  else
    return endCall();
  return Step::Taken;
}

CallReader::Step CallReader::endCall() {
  const bool isTagged = form->arguments == ArgumentForm::Tagged;
  if (!begun) {
    giveBegin();
    give(AnswerEvent::Kind::CallArguments, "{");
    give(AnswerEvent::Kind::CallArguments, "}");
  } else if (isTagged) {
    give(AnswerEvent::Kind::CallArguments, "}");
  }
  give(AnswerEvent::Kind::CallEnd);
  if (!isMuted)
    std::ranges::move(waiting, std::back_inserter(*events));
  waiting.clear();
  raw.clear();
  given = true;
  begun = complete = false;
  const bool isLone = !form->isList && !form->separator && form->callOpen.empty();
  if (isLone)
    return Step::Ended;
  between = true;
  if (form->isList)
    expect({{",", Then::Call}, {"]", Then::ListEnd}});
  else
    expect({{std::string_view(&form->separator, form->separator ? 1 : 0), Then::Call},
            {form->callOpen, Then::Head},
            {form->close, Then::SectionEnd}},
           form->close.empty());
  return Step::Taken;
}

CallReader::Step CallReader::endList() {
  if (form->close.empty())
    return Step::Ended;
  between = true;
  expect({{form->close, Then::SectionEnd}});
  return Step::Taken;
}

void CallReader::giveBegin() {
  begun = true;
  isMuted = !settings.parallel && calls > 0;
  const auto found = std::ranges::find(settings.tools, name, &AnswerTool::name);
  if (found != settings.tools.end())
    tool = found - settings.tools.begin();
  ++calls;
  give(AnswerEvent::Kind::CallBegin, name);
}

void CallReader::give(AnswerEvent::Kind kind, std::string_view piece) {
  if (kind == AnswerEvent::Kind::CallArguments && piece.empty())
    return;
  std::vector<AnswerEvent> &out = isHeld() ? waiting : *events;
  if (!isHeld()) {
    raw.clear();
    given = true;
  }
  if (kind == AnswerEvent::Kind::CallArguments && !out.empty() && out.back().kind == kind) {
    out.back().text += piece;
    return;
  }
  AnswerEvent event{kind, calls - 1, std::string(piece), {}};
  if (kind == AnswerEvent::Kind::CallBegin)
    event.id = id;
  out.push_back(std::move(event));
}

void CallReader::fail() {
  if (!begun)
    return;
  if (isHeld()) {
    waiting.clear();
    --calls;
  } else {
    AnswerEvent end{AnswerEvent::Kind::CallEnd, calls - 1, {}, {}};
    end.whole = false;
    events->push_back(std::move(end));
  }
  begun = false;
}

} // namespace ingot::runtime
