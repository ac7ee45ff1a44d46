// SPDX-License-Identifier: Apache-2.0
// All of them end as an AnswerForm.
#include "runtime/server/FormFields.h"

#include "runtime/server/StructuralTag.h"

namespace ingot::runtime {

static bool setForm(AnswerForm form, Request &request) {
  const bool isFirst = request.form.isFree();
  request.form = std::move(form);
  return isFirst;
}

static bool setKind(AnswerForm::Kind kind, Request &request) {
  return setForm({kind, "", {}}, request);
}

bool readSchema(const Json &value, Request &request) {
  if (!value.is_object() && !value.is_boolean() && !value.is_string())
    return false;
  return setForm({AnswerForm::Kind::JsonSchema,
                  value.is_string() ? value.get<std::string>() : textOf(value),
                  {}},
                 request);
}

bool readRegex(const Json &value, Request &request) {
  return value.is_string() &&
         setForm({AnswerForm::Kind::Regex, value.get<std::string>(), {}}, request);
}

static bool setGrammar(const Json &value, Request &request) {
  return value.is_string() && setForm(AnswerForm::ofGrammar(value.get<std::string>()), request);
}

bool readGrammar(const Json &value, Request &request) {
  return value == "" || setGrammar(value, request);
}

/// The object, or its text.
static bool readTags(const Json &value, Request &request) {
  OrError<Json> parsed = value.is_string() ? parseBody(value.get<std::string>()) : value;
  const Json *object = std::get_if<Json>(&parsed);
  std::optional<guided::TagFormat> format =
      object ? readStructuralTag(*object) : std::optional<guided::TagFormat>();
  if (!format)
    return false;
  return setForm({AnswerForm::Kind::Tags,
                  "",
                  {},
                  std::make_shared<const guided::TagFormat>(*std::move(format))},
                 request);
}

/// A format whose schema, where it has one, is a member of `holder`.
static bool readFormat(const Json &value, const Json &holder, Request &request) {
  if (!value.is_object())
    return false;
  const std::string type = wordOf(value, "type");
  if (type == "structural_tag")
    return readTags(value, request);
  if (type == "json_object")
    return setKind(AnswerForm::Kind::JsonObject, request);
  if (type == "json_schema")
    return holder.is_object() && holder.contains("schema") && holder["schema"].is_object() &&
           readSchema(holder["schema"], request);
  return type == "text" || value.empty();
}

bool readResponseFormat(const Json &value, Request &request) {
  return readFormat(value, value.is_object() ? value.value("json_schema", Json()) : Json(),
                    request);
}

bool readFlatFormat(const Json &value, Request &request) {
  return readFormat(value, value, request);
}

bool readStructuredOutputs(const Json &value, Request &request) {
  if (!value.is_object())
    return false;
  for (const auto &[name, member] : value.items()) {
    if (member.is_null())
      continue;
    if (name == "json"             ? !readSchema(member, request)
        : name == "regex"          ? !readRegex(member, request)
        : name == "grammar"        ? !setGrammar(member, request)
        : name == "structural_tag" ? !readTags(member, request)
        : name == "json_object"
            ? member != Json(true) || !setKind(AnswerForm::Kind::JsonObject, request)
            : name != "choice")
      return false;
    AnswerForm choice = {AnswerForm::Kind::Choice, "", {}};
    if (name == "choice" && (!take(member, choice.choices) || !setForm(std::move(choice), request)))
      return false;
  }
  return true;
}

} // namespace ingot::runtime
