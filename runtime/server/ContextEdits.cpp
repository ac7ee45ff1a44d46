// SPDX-License-Identifier: Apache-2.0
// Edits find their blocks first, clear them in a copy, and count what that saves.
#include "runtime/server/ContextEdits.h"

#include "runtime/server/BodyFields.h"

#include <algorithm>
#include <map>

namespace ingot::runtime {
namespace {

constexpr const char *clearThinking = "clear_thinking_20251015",
                     *clearToolUses = "clear_tool_uses_20250919";
/// What a model is told in the place of a result.
constexpr const char *cleared = "[result cleared]";

using Edit = ContextEdit;

/// {"type": one of `types`, "value": a number from `least`}; the index of the type, or -1.
int readAmount(const Json &value, std::initializer_list<const char *> types, int64_t least,
               int64_t &amount) {
  std::string type = wordOf(value, "type");
  auto found = std::find(types.begin(), types.end(), type);
  bool well =
      found != types.end() && take(value.value("value", Json()), amount, least, int64_t(1) << 40);
  return well ? int(found - types.begin()) : -1;
}

bool readThinkingKeep(const Json &value, Edit &edit) {
  if (value == "all" || wordOf(value, "type") == "all") {
    edit.keep = INT64_MAX;
    return true;
  }
  return readAmount(value, {"thinking_turns"}, 1, edit.keep) == 0;
}

bool readToolKeep(const Json &value, Edit &edit) {
  return readAmount(value, {"tool_uses"}, 0, edit.keep) == 0;
}

bool readTrigger(const Json &value, Edit &edit) {
  int type = readAmount(value, {"input_tokens", "tool_uses"}, 0, edit.trigger);
  edit.triggeredByUses = type == 1;
  return type >= 0;
}

bool readClearAtLeast(const Json &value, Edit &edit) {
  return readAmount(value, {"input_tokens"}, 0, edit.clearAtLeast) == 0;
}

bool readExcluded(const Json &value, Edit &edit) { return take(value, edit.excluded); }

bool readInputs(const Json &value, Edit &edit) {
  if (take(value, edit.clearsInputs))
    return true;
  edit.clearsInputs = value.is_array() && !value.empty();
  return take(value, edit.inputsOf);
}

bool readType(const Json &, Edit &) { return true; }

const BodyFields<Edit> &fieldsOf(Edit::Kind kind) {
  static const BodyFields<Edit> thinking = {
      {"type", {readType, "a string"}},
      {"keep", {readThinkingKeep, "\"all\" or thinking_turns with a value of at least 1"}},
  };
  static const BodyFields<Edit> toolUses = {
      {"type", {readType, "a string"}},
      {"trigger", {readTrigger, "input_tokens or tool_uses with a value"}},
      {"keep", {readToolKeep, "tool_uses with a value"}},
      {"clear_at_least", {readClearAtLeast, "input_tokens with a value"}},
      {"exclude_tools", {readExcluded, "a list of names"}},
      {"clear_tool_inputs", {readInputs, "true, false or a list of names"}},
  };
  return kind == Edit::Thinking ? thinking : toolUses;
}

OrError<Edit> readEdit(const Json &value, const std::string &where) {
  std::string type = wordOf(value, "type");
  Edit edit;
  if (type == clearThinking)
    edit.kind = Edit::Thinking, edit.keep = 1;
  else if (type != clearToolUses)
    return type.empty() ? fieldError(where, "an object with a type")
                        : unservedError(where + ".type " + type, true);
  for (const auto &[name, member] : value.items()) {
    if (member.is_null())
      continue;
    auto field = fieldsOf(edit.kind).find(name);
    if (field == fieldsOf(edit.kind).end())
      return unservedError(where + '.' + name, false);
    if (!field->second.read(member, edit))
      return fieldError(where + '.' + name, field->second.must);
  }
  return edit;
}

/// A block of a message's content.
struct Place {
  size_t message, block;
};

/// Calls `visit` with each block of each message, and where it is.
template <class Visit> void forBlocks(const Json &messages, Visit visit) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object() || !messages[i].contains("content"))
      continue;
    const Json &content = messages[i]["content"];
    for (size_t j = 0; content.is_array() && j < content.size(); ++j)
      visit(messages[i], content[j], Place{i, j});
  }
}

/// Whether a user's message only answers calls, so that the assistant's turn goes on behind it.
bool isResults(const Json &message) {
  const Json content = message.is_object() ? message.value("content", Json()) : Json();
  return content.is_array() && !content.empty() &&
         std::all_of(content.begin(), content.end(),
                     [](const Json &block) { return wordOf(block, "type") == "tool_result"; });
}

/// Thoughts by the turns of the assistant that have any.
std::vector<std::vector<Place>> thoughtsOf(const Json &messages) {
  std::vector<std::vector<Place>> turns;
  std::vector<size_t> turnOf;
  size_t turn = 0, last = SIZE_MAX;
  for (const Json &message : messages) {
    turn += wordOf(message, "role") == "user" && !isResults(message);
    turnOf.push_back(turn);
  }
  forBlocks(messages, [&](const Json &message, const Json &block, Place place) {
    std::string type = wordOf(block, "type");
    if (wordOf(message, "role") != "assistant" ||
        (type != "thinking" && type != "redacted_thinking"))
      return;
    if (std::exchange(last, turnOf[place.message]) != turnOf[place.message])
      turns.emplace_back();
    turns.back().push_back(place);
  });
  return turns;
}

/// Clears what an edit asks for, whatever that saves; how many turns or uses that were.
int64_t clearThoughts(const Edit &edit, Json &messages) {
  std::vector<std::vector<Place>> turns = thoughtsOf(messages);
  int64_t old = std::max<int64_t>(int64_t(turns.size()) - edit.keep, 0);
  for (size_t turn = size_t(old); turn-- > 0;)
    for (size_t i = turns[turn].size(); i-- > 0;) {
      Json &content = messages[turns[turn][i].message]["content"];
      content.erase(turns[turn][i].block);
      if (content.empty()) // a message stays one
        content.push_back({{"type", "text"}, {"text", ""}});
    }
  return old;
}

/// A call and its result.
struct ToolUse {
  std::string name;
  std::optional<Place> call;
  Place result;
};

/// In the order of their results.
std::vector<ToolUse> usesOf(const Json &messages) {
  std::map<std::string, std::pair<std::string, Place>> calls;
  std::vector<ToolUse> uses;
  forBlocks(messages, [&](const Json &, const Json &block, Place place) {
    std::string type = wordOf(block, "type");
    if (type == "tool_use")
      calls[wordOf(block, "id")] = {wordOf(block, "name"), place};
    if (type != "tool_result")
      return;
    auto call = calls.find(wordOf(block, "tool_use_id"));
    if (call == calls.end())
      uses.push_back({{}, std::nullopt, place});
    else
      uses.push_back({call->second.first, call->second.second, place});
  });
  return uses;
}

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int64_t clearUses(const Edit &edit, const std::vector<ToolUse> &uses, Json &messages) {
  int64_t old = std::max<int64_t>(int64_t(uses.size()) - edit.keep, 0), count = 0;
  for (size_t i = 0; i < size_t(old); ++i) {
    const ToolUse &use = uses[i];
    if (has(edit.excluded, use.name))
      continue;
    ++count;
    messages[use.result.message]["content"][use.result.block]["content"] = cleared;
    if (use.call && edit.clearsInputs && (edit.inputsOf.empty() || has(edit.inputsOf, use.name)))
      messages[use.call->message]["content"][use.call->block]["input"] = Json::object();
  }
  return count;
}

/// What one edit did, or null where it does not apply.
OrError<Json> applyOne(const Edit &edit, Json &messages, const MessageCounter &count) {
  Json edited = messages;
  std::vector<ToolUse> uses;
  if (edit.kind == Edit::ToolUses)
    uses = usesOf(messages);
  if (edit.kind == Edit::ToolUses && edit.triggeredByUses && int64_t(uses.size()) <= edit.trigger)
    return Json();
  int64_t found =
      edit.kind == Edit::Thinking ? clearThoughts(edit, edited) : clearUses(edit, uses, edited);
  if (found == 0)
    return Json();
  OrError<int64_t> before = count(messages), after = count(edited);
  for (const OrError<int64_t> *one : {&before, &after})
    if (const ApiError *error = std::get_if<ApiError>(one))
      return *error;
  int64_t tokens = std::get<int64_t>(before), saved = tokens - std::get<int64_t>(after);
  bool applies =
      edit.kind == Edit::Thinking || ((edit.triggeredByUses || tokens > edit.trigger) &&
                                      (edit.clearAtLeast == 0 || saved >= edit.clearAtLeast));
  if (!applies)
    return Json();
  messages = std::move(edited);
  bool thinking = edit.kind == Edit::Thinking;
  return Json{{"type", thinking ? clearThinking : clearToolUses},
              {thinking ? "cleared_thinking_turns" : "cleared_tool_uses", found},
              {"cleared_input_tokens", std::max<int64_t>(saved, 0)}};
}

} // namespace

OrError<std::vector<ContextEdit>> readContextEdits(const Json &value) {
  std::vector<ContextEdit> edits;
  if (value.is_null())
    return edits;
  if (!value.is_object())
    return fieldError("context_management", "an object with a list of edits");
  for (const auto &[name, member] : value.items()) {
    if (name != "edits")
      return unservedError("context_management." + name, false);
    if (!member.is_array() && !member.is_null())
      return fieldError("context_management.edits", "a list");
    for (size_t i = 0; i < member.size(); ++i) {
      OrError<Edit> edit =
          readEdit(member[i], "context_management.edits[" + std::to_string(i) + ']');
      if (const ApiError *error = std::get_if<ApiError>(&edit))
        return *error;
      edits.push_back(std::move(std::get<Edit>(edit)));
    }
  }
  return edits;
}

OrError<Json> applyContextEdits(const std::vector<ContextEdit> &edits, Json &messages,
                                const MessageCounter &count) {
  Json applied = Json::array();
  for (const ContextEdit &edit : edits) {
    OrError<Json> done = applyOne(edit, messages, count);
    if (std::holds_alternative<ApiError>(done))
      return done;
    if (!std::get<Json>(done).is_null())
      applied.push_back(std::move(std::get<Json>(done)));
  }
  return applied;
}

} // namespace ingot::runtime
