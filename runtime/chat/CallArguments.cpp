// SPDX-License-Identifier: Apache-2.0
// How a call's arguments are read in each of the forms, and given out as JSON.
#include "runtime/chat/CallReader.h"
#include "runtime/chat/ParameterType.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Kind = AnswerEvent::Kind;
using Scanned = LiteralScanner::Result;

constexpr size_t longestKey = 4096; // bytes of a key, a name or an identifier

Notation notationOf(ArgumentForm form) {
  switch (form) {
  case ArgumentForm::PythonCall:
    return Notation::PythonCall;
  case ArgumentForm::Gemma:
    return Notation::Gemma;
  default:
    return Notation::Json;
  }
}

/// A JSON string's text; empty where it is none.
std::string decoded(const std::string &json) {
  const nlohmann::json value = nlohmann::json::parse(json, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool isJsonObject(std::string_view text) {
  LiteralScanner scanner;
  std::string json;
  Scanned result = Scanned::More;
  size_t at = 0;
  while (at < text.size() && result == Scanned::More)
    result = scanner.feed(text[at++], json);
  return result == Scanned::Done && scanner.type() == JsonObject &&
         std::ranges::all_of(text.substr(at), isSpace);
}

bool isOneOf(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

} // namespace

CallReader::Step CallReader::startArguments() {
  switch (form->arguments) {
  case ArgumentForm::JsonCall:
  case ArgumentForm::NamedJson:
    expect({{"{", Then::Members}});
    break;
  case ArgumentForm::Tagged:
    expectTag();
    break;
  default:
    scanner = LiteralScanner(notationOf(form->arguments));
    atValueStart = true;
    state = State::Arguments;
  }
  return Step::Taken;
}

CallReader::Step CallReader::inArguments(char byte) {
  if (atValueStart) {
    if (isSpace(byte))
      return Step::Taken;
    const char opening = form->arguments == ArgumentForm::PythonCall ? '(' : '{';
    if (byte != opening) {
      // A call without arguments may have nothing in their place, if a marker ends it.
      if (form->argumentsClose.empty() && form->callClose.empty())
        return Step::Failed;
      afterArguments();
      return Step::Again;
    }
    atValueStart = false;
    giveBegin();
  }
  text.clear();
  const Scanned scanned = scanner.feed(byte, text);
  if (scanned == Scanned::Fault)
    return Step::Failed;
  giveJson(byte);
  return scanned == Scanned::Done ? afterArguments() : Step::Taken;
}

/// Gives out what the scanner made of the bytes up to `byte`, which may yet have no part in it.
void CallReader::giveJson(char byte) {
  if (text.empty())
    return;
  give(Kind::CallArguments, text);
  if (!isHeld() && scanner.isPending())
    raw = byte;
}

// Objects with the name, the arguments and the identifier as members.

CallReader::Step CallReader::startMember() {
  if (form->arguments == ArgumentForm::NamedJson && !name.empty())
    return Step::Failed;
  scanner = LiteralScanner();
  key.clear();
  scanner.feed('"', key);
  state = State::MemberKey;
  return Step::Taken;
}

CallReader::Step CallReader::inMemberKey(char byte) {
  const Scanned scanned = scanner.feed(byte, key);
  if (scanned == Scanned::Fault || key.size() > longestKey)
    return Step::Failed;
  if (scanned == Scanned::Done) {
    key = decoded(key);
    expect({{":", Then::MemberValue}});
  }
  return Step::Taken;
}

CallReader::Step CallReader::startMemberValue() {
  if (form->arguments == ArgumentForm::NamedJson) {
    if (key.empty())
      return Step::Failed;
    role = Role::Arguments;
    name = key;
  } else if (isOneOf(key, {"name", "tool_name", "function"})) {
    role = Role::Name;
  } else if (isOneOf(key, {"arguments", "parameters"})) {
    role = Role::Arguments;
  } else if (isOneOf(key, {"id", "tool_call_id"})) {
    role = Role::Id;
  } else {
    role = Role::Other;
    // Where no marker says that this is a call, it is one only if it is nothing else.
    if (form->open.empty() && key != "type")
      return Step::Failed;
  }
  if ((role == Role::Name && !name.empty()) || (role == Role::Arguments && hasArguments))
    return Step::Failed;
  scanner = LiteralScanner();
  text.clear();
  atValueStart = true;
  state = State::MemberValue;
  return Step::Taken;
}

CallReader::Step CallReader::inMemberValue(char byte) {
  if (atValueStart) {
    if (isSpace(byte))
      return Step::Taken;
    atValueStart = false;
    isStreamed = role == Role::Arguments && byte == '{' && !name.empty() && !form->idFollows;
    if (isStreamed)
      giveBegin();
  }
  const Scanned scanned = scanner.feed(byte, text);
  if (scanned == Scanned::Fault)
    return Step::Failed;
  if (isStreamed)
    giveJson(byte);
  if (isStreamed || role == Role::Other)
    text.clear();
  else if (role != Role::Arguments && text.size() > longestKey)
    return Step::Failed;
  if (scanned == Scanned::More)
    return Step::Taken;
  if (!endMemberValue())
    return Step::Failed;
  if (form->arguments == ArgumentForm::NamedJson)
    expect({{"}", Then::ObjectEnd}});
  else
    expect({{",", Then::NextMember}, {"}", Then::ObjectEnd}});
  return scanned == Scanned::Done ? Step::Taken : Step::Again;
}

/// False where the value is none of its member.
bool CallReader::endMemberValue() {
  const JsonType type = scanner.type();
  switch (role) {
  case Role::Name:
    name = decoded(text);
    return !name.empty();
  case Role::Id:
    id = type == JsonString ? decoded(text) : type == JsonInteger ? text : std::string();
    return type == JsonString || type == JsonInteger || type == JsonNull;
  case Role::Arguments:
    hasArguments = true;
    if (isStreamed)
      return true;
    arguments = type == JsonNull ? "{}" : type == JsonString ? decoded(text) : text;
    return isJsonObject(arguments);
  case Role::Other:
    break;
  }
  return true;
}

CallReader::Step CallReader::endObject() {
  if (name.empty())
    return Step::Failed;
  if (!begun) {
    giveBegin();
    give(Kind::CallArguments, hasArguments ? arguments : "{}");
  }
  return afterArguments();
}

// Names and values between tags.

void CallReader::expectTag() {
  expect({{form->tags.key, Then::Tag}, {form->callClose, Then::CallEnd}});
}

CallReader::Step CallReader::startTag() {
  if (!begun) {
    giveBegin();
    give(Kind::CallArguments, "{");
  }
  text.clear();
  state = State::Tag;
  return Step::Taken;
}

CallReader::Step CallReader::inTag(char byte) {
  text += byte;
  if (!text.ends_with(form->tags.keyEnd))
    return text.size() > longestKey ? Step::Failed : Step::Taken;
  key.assign(text, 0, text.size() - form->tags.keyEnd.size());
  if (form->tags.value.empty())
    return startValue();
  expect({{form->tags.value, Then::Value}});
  return Step::Taken;
}

CallReader::Step CallReader::startValue() {
  const ArgumentTags &tags = form->tags;
  types = 0;
  if (!tags.ofString.empty()) {
    const bool isString = key.ends_with(tags.ofString);
    const std::string_view suffix = isString ? tags.ofString : tags.ofJson;
    if (key.ends_with(suffix)) {
      key.resize(key.size() - suffix.size());
      types = isString ? JsonString : AnyJson ^ JsonString;
    }
  }
  if (types == 0)
    types = tool < 0 ? +AnyJson
                     : parameterTypes(settings.tools[static_cast<size_t>(tool)].parameters, key);
  isStreamed = types == JsonString;
  std::string json = isFirst ? "\"" : ", \"";
  isFirst = false;
  appendEscaped(key, json);
  json += isStreamed ? "\": \"" : "\": ";
  give(Kind::CallArguments, json);
  text.clear();
  atValueStart = true;
  state = State::Value;
  return Step::Taken;
}

CallReader::Step CallReader::inValue(char byte) {
  const ArgumentTags &tags = form->tags;
  const bool isFirstByte = std::exchange(atValueStart, false);
  if (isFirstByte && tags.onLines && byte == '\n')
    return Step::Taken;
  const std::string lineEnd = tags.onLines ? '\n' + std::string(tags.valueEnd) : std::string();
  const std::array<std::string_view, 2> ends = {tags.valueEnd, lineEnd};
  held.hold(byte);
  while (true) {
    switch (held.step(std::span(ends).first(tags.onLines ? 2 : 1))) {
    case MarkerScanner::Result::Wait:
      return Step::Taken;
    case MarkerScanner::Result::Found:
      return endValue();
    case MarkerScanner::Result::Release:
      giveValue(held.byte);
    }
  }
}

void CallReader::giveValue(char byte) {
  if (!isStreamed) {
    text += byte;
    return;
  }
  std::string json;
  appendEscaped(std::string_view(&byte, 1), json);
  give(Kind::CallArguments, json);
  if (!isHeld())
    raw = held.text();
}

/// Gives out what is there of a value whose end is missing.
void CallReader::giveUnfinished() {
  if (state != State::Value)
    return;
  for (const char byte : held.take())
    giveValue(byte);
  if (!isStreamed)
    give(Kind::CallArguments, typedValue(text, types));
}

CallReader::Step CallReader::endValue() {
  give(Kind::CallArguments, isStreamed ? "\"" : typedValue(text, types));
  expectTag();
  return Step::Taken;
}

} // namespace ingot::runtime
