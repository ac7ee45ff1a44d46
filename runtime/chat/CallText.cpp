// SPDX-License-Identifier: Apache-2.0
// The inverse of CallReader, for the forms whose templates leave calls out.
#include "runtime/chat/CallText.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

std::string jsonOf(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A value as Python writes it, with the strings of JSON.
std::string pythonOf(const Json &value) {
  if (value.is_null())
    return "None";
  if (value.is_boolean())
    return value.get<bool>() ? "True" : "False";
  if (!value.is_structured())
    return jsonOf(value);
  std::string text;
  for (const auto &[key, item] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? jsonOf(Json(key)) + ": " : "") +
            pythonOf(item);
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string pythonArguments(const Json &arguments) {
  std::string text;
  for (const auto &[key, value] : arguments.items())
    text += (text.empty() ? "" : ", ") + key + "=" + pythonOf(value);
  return text;
}

constexpr CallForm plainForm = {.open = "", .arguments = ArgumentForm::JsonCall};

/// The form that the family's models write first, of those that are written here.
const CallForm &formOf(const AnswerFamily &family) {
  for (const CallForm &form : family.forms)
    if (form.arguments == ArgumentForm::Json || form.arguments == ArgumentForm::JsonCall ||
        form.arguments == ArgumentForm::PythonCall)
      return form;
  return plainForm;
}

/// A message's text with its calls behind it.
class CallText {
public:
  CallText(Turn &turn, const AnswerFamily &family)
      : turn(turn), family(family), form(formOf(family)), text(contentText(turn.message)) {}

  void write() {
    const Json calls = std::move(turn.message["tool_calls"]);
    // Without a marker for each, those of the whole are repeated.
    const bool isLone = !form.isList && form.callOpen.empty();
    for (size_t i = 0; i < calls.size(); ++i) {
      if ((i == 0 || isLone) && !text.empty())
        text += "\n";
      if (i == 0 || isLone)
        mark(form.open);
      text += !form.isList ? "" : i == 0 ? "[" : ", ";
      mark(form.callOpen);
      call(calls[i], i);
      mark(form.argumentsClose);
      mark(form.callClose);
    }
    text += form.isList ? "]" : "";
    mark(form.close);
    turn.message["content"] = std::move(text);
    turn.message.erase("tool_calls");
  }

private:
  void mark(std::string_view marker) {
    if (!marker.empty())
      turn.own.push_back({uint32_t(text.size()), uint32_t(text.size() + marker.size())});
    text += marker;
  }

  void call(const Json &call, size_t number) {
    const Json &function = call.contains("function") ? call["function"] : call;
    const Json given = function.value("name", Json(""));
    const std::string name = given.is_string() ? given.get<std::string>() : jsonOf(given);
    const Json arguments = function.value("arguments", Json::object());
    if (form.arguments == ArgumentForm::JsonCall)
      text += "{\"name\": " + jsonOf(Json(name)) + ", \"arguments\": " + jsonOf(arguments) + "}";
    else if (form.arguments == ArgumentForm::PythonCall)
      text += name + "(" + pythonArguments(arguments) + ")";
    else
      withHead(name, number, arguments);
  }

  void withHead(const std::string &name, size_t number, const Json &arguments) {
    for (const HeadPart &part : form.head) {
      if (part.kind == HeadPart::Kind::None)
        continue;
      text += part.kind == HeadPart::Kind::Other ? "function" : family.namePrefix;
      if (part.kind != HeadPart::Kind::Other)
        text += name;
      // An identifier that stands for the name.
      if (part.kind == HeadPart::Kind::Id)
        text += ":" + std::to_string(number);
      mark(part.end);
    }
    text += jsonOf(arguments);
  }

  Turn &turn;
  const AnswerFamily &family;
  const CallForm &form;
  std::string text;
};

} // namespace

void sayCallsAsText(Turns &turns, const AnswerFamily &family, bool areResultsKnown) {
  for (Turn &turn : turns) {
    if (turn.hasCalls())
      CallText(turn, family).write();
    else if (turn.is("tool") && !areResultsKnown)
      turn.message["role"] = "user";
  }
}

} // namespace ingot::runtime
