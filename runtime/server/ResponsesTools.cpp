// SPDX-License-Identifier: Apache-2.0
// Every kind of tool becomes a function of chats, and is remembered for the way back.
#include "runtime/server/ResponsesTools.h"

#include "runtime/server/UnservedFields.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

/// Agents offer them always; the model may do without.
constexpr std::string_view hosted[] = {"image_generation", "tool_search", "web_search",
                                       "web_search_preview"};

class ToolReader {
public:
  ToolReader(Json &functions, OfferedTools &offered) : functions(functions), offered(offered) {}

  /// `space`: the namespace that the tool is in.
  std::optional<ApiError> read(const Json &tool, const std::string &where,
                               const std::string &space) {
    std::string type = wordOf(tool, "type"), name = wordOf(tool, "name");
    if (!tool.is_object())
      return fieldError(where, "an object");
    if (type == "namespace" && space.empty())
      return readSpace(tool, where, name);
    if (type != "function" && type != "custom")
      return unservedError(where + ".type " + type, true);
    if (name.empty())
      return fieldError(where + ".name", "a string that is not empty");
    Json function = type == "custom" ? functionOf(tool) : tool;
    function.erase("type");
    if (!space.empty())
      function["name"] = nameInSpace(space, name);
    if (!space.empty() || type == "custom")
      offered[function["name"].get<std::string>()] = {type == "custom", space, name};
    functions.push_back({{"type", "function"}, {"function", std::move(function)}});
    return std::nullopt;
  }

private:
  std::optional<ApiError> readSpace(const Json &tool, const std::string &where,
                                    const std::string &name) {
    Json tools = tool.value("tools", Json());
    if (name.empty() || !tools.is_array())
      return fieldError(where, "a namespace with a name and a list of tools");
    for (size_t i = 0; i < tools.size(); ++i)
      if (std::optional<ApiError> error =
              read(tools[i], where + ".tools[" + std::to_string(i) + ']', name))
        return error;
    return std::nullopt;
  }

  /// A custom tool as a function of one text, which is told the form that it should have.
  static Json functionOf(const Json &tool) {
    std::string description = wordOf(tool, "description");
    Json format = tool.value("format", Json());
    if (std::string grammar = wordOf(format, "definition"); !grammar.empty())
      description += (description.empty() ? "" : "\n\n") + std::string("The input has this ") +
                     wordOf(format, "syntax") + " grammar:\n" + grammar;
    Json function = {{"name", tool["name"]}};
    if (!description.empty())
      function["description"] = description;
    function["parameters"] = {{"type", "object"},
                              {"properties", {{"input", {{"type", "string"}}}}},
                              {"required", Json::array({"input"})}};
    return function;
  }

  Json &functions;
  OfferedTools &offered;
};

} // namespace

std::optional<ApiError> takeResponsesTools(const Json &tools, ChatRequest &chat,
                                           OfferedTools &offered, Json &told) {
  told = Json::array();
  if (tools.is_null())
    return std::nullopt;
  if (!tools.is_array())
    return fieldError("tools", "a list of tools");
  Json functions = Json::array();
  ToolReader reader(functions, offered);
  for (size_t i = 0; i < tools.size(); ++i) {
    std::string type = wordOf(tools[i], "type");
    if (std::find(std::begin(hosted), std::end(hosted), type) != std::end(hosted))
      continue;
    if (std::optional<ApiError> error =
            reader.read(tools[i], "tools[" + std::to_string(i) + ']', {}))
      return error;
    told.push_back(tools[i]);
  }
  return takeTools(functions, chat);
}

std::string nameInSpace(const std::string &space, const std::string &name) {
  return space + (space.ends_with("__") ? "" : "__") + name;
}

std::string argumentsOfInput(const std::string &input) { return textOf(Json{{"input", input}}); }

std::string inputOfArguments(const std::string &arguments) {
  OrError<Json> object = parseBody(arguments);
  const Json *found = std::get_if<Json>(&object);
  return found && found->value("input", Json()).is_string() ? wordOf(*found, "input") : arguments;
}

} // namespace ingot::runtime
