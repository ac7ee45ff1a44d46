// SPDX-License-Identifier: Apache-2.0
// Fields of a conversation; the shapes of messages and tools.
#include "runtime/server/ChatRequest.h"

#include "runtime/chat/Effort.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

constexpr int64_t mostChoices = 128, mostTools = 1024;

using C = ChatRequest;

template <auto member> bool readOwn(const Json &value, C &request) {
  return take(value, request.*member);
}

/// What the template is told without being looked at here.
template <const char *const &name, Json::value_t type> bool keep(const Json &value, C &request) {
  request.conversation[name] = value;
  return value.type() == type;
}

constexpr const char *generationPrompt = "add_generation_prompt",
                     *continued = "continue_final_message", *arguments = "chat_template_kwargs",
                     *documents = "documents", *enableThinking = "enable_thinking",
                     *verbosity = "verbosity";

bool readMaxTokens(const Json &value, C &request) {
  return take(value, request.each.sampling.maxTokens, 1, int64_t(1) << 40);
}

bool readN(const Json &value, C &request) { return take(value, request.n, 1, mostChoices); }

bool readTopLogprobs(const Json &value, C &request) {
  return take(value, request.topLogprobs, 0, 20);
}

bool readOptions(const Json &value, C &request) {
  return readStreamOptions(value, request.includeUsage);
}

/// OpenRouter's way to ask for counts, which an answer that is given whole always has.
bool readUsage(const Json &value, C &request) {
  return value == Json::object() || (value.is_object() && value.size() == 1 &&
                                     take(value.value("include", Json()), request.wantsUsage));
}

bool readModalities(const Json &value, C &) {
  return value == Json::array() || value == Json::array({"text"});
}

bool readEffort(const Json &value, C &request) {
  if (value != "")
    request.conversation["reasoning_effort"] = value;
  return value.is_string();
}

/// A number of tokens of thoughts; -1: no limit.
bool readMostThought(const Json &value, C &request) {
  int64_t most = 0;
  const bool read = take(value, most, -1, int64_t(1) << 40);
  request.each.markers.mostThought = most < 0 ? guided::AnswerMarkers::unlimited : uint64_t(most);
  return read;
}

/// OpenRouter's object of what others have fields for.
bool readReasoning(const Json &value, C &request) {
  if (!value.is_object())
    return false;
  for (const auto &[name, member] : value.items()) {
    bool flag = false;
    bool known = name == "effort"       ? readEffort(member, request)
                 : name == "max_tokens" ? readMostThought(member, request)
                                        : take(member, flag);
    if (name == "exclude")
      request.includeReasoning &= !flag;
    else if (name == "enabled")
      request.variables["enable_thinking"] = flag;
    else if (name != "effort" && name != "max_tokens")
      return false;
    if (!known)
      return false;
  }
  return true;
}

/// A variable of the template that has a field of its own.
template <const char *const &name, Json::value_t type> bool tell(const Json &value, C &request) {
  request.variables[name] = value;
  return value.type() == type;
}

bool isMessages(const Json &value, C &request) {
  request.conversation["messages"] = value;
  return value.is_array() && !value.empty();
}

const BodyFields<C> &ownFields() {
  static const BodyFields<C> fields = {
      {"model", {readOwn<&C::model>, "a string"}},
      {"messages", {isMessages, "a list of at least one message"}},
      {"max_tokens", {readMaxTokens, "an integer of at least 1"}},
      {"max_completion_tokens", {readMaxTokens, "an integer of at least 1"}},
      {"n", {readN, "an integer from 1 to 128"}},
      {"stream", {readOwn<&C::stream>, "true or false"}},
      {"stream_options", {readOptions, "an object with include_usage, which is true or false"}},
      {"logprobs", {readOwn<&C::logprobs>, "true or false"}},
      {"top_logprobs", {readTopLogprobs, "an integer from 0 to 20"}},
      {"parallel_tool_calls", {readOwn<&C::parallelCalls>, "true or false"}},
      {"include_reasoning", {readOwn<&C::includeReasoning>, "true or false"}},
      {"add_generation_prompt", {keep<generationPrompt, Json::value_t::boolean>, "true or false"}},
      {"continue_final_message", {keep<continued, Json::value_t::boolean>, "true or false"}},
      {"chat_template_kwargs", {keep<arguments, Json::value_t::object>, "an object"}},
      {"reasoning_effort", {readEffort, "a string"}},
      {"reasoning",
       {readReasoning,
        "an object of effort, max_tokens, enabled and exclude: others are not served"}},
      {"thinking", {readThinking, mustBeThinking}},
      {"thinking_budget_tokens", {readMostThought, "an integer of at least -1"}}, // llama.cpp's
      {"thinking_token_budget", {readMostThought, "an integer of at least -1"}},  // vLLM's
      {"enable_thinking", {tell<enableThinking, Json::value_t::boolean>, "true or false"}},
      {"verbosity", {tell<verbosity, Json::value_t::string>, "a string"}},
      {"usage", {readUsage, "an object with include, which is true or false"}},
      {"documents", {keep<documents, Json::value_t::array>, "a list"}},
      {"modalities", {readModalities, "[\"text\"]: other outputs are not served"}},
  };
  return fields;
}

/// What the template would not look at; all else of messages is checked where they become a prompt.
std::optional<ApiError> checkMessages(const Json &messages) {
  for (size_t i = 0; i < messages.size(); ++i)
    for (const char *name : {"audio", "function_call"})
      if (messages[i].is_object() && messages[i].contains(name) && !isNeutral(messages[i][name]))
        return unservedError("messages[" + std::to_string(i) + "]." + name, true);
  return std::nullopt;
}

} // namespace

std::optional<ApiError> takeTools(const Json &tools, ChatRequest &request) {
  if (!tools.is_array() || int64_t(tools.size()) > mostTools)
    return fieldError("tools", "a list of at most 1024 tools");
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json &tool = tools[i];
    std::string where = "tools[" + std::to_string(i) + ']';
    if (!tool.is_object() || tool.value("type", Json()) != "function")
      return fieldError(where + ".type", "\"function\"");
    Json function = tool.value("function", Json());
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
      return fieldError(where + ".function", "an object with a name");
    const Json strict = function.value("strict", Json());
    if (!strict.is_boolean() && !strict.is_null())
      return fieldError(where + ".function.strict", "true or false");
    Json parameters = function.value("parameters", Json());
    if (!parameters.is_object() && !parameters.is_null())
      return fieldError(where + ".function.parameters", "a JSON schema, which is an object");
    request.tools.push_back(
        {function["name"].get<std::string>(), std::move(parameters), strict == Json(true)});
  }
  if (!tools.empty())
    request.conversation["tools"] = tools;
  return std::nullopt;
}

std::optional<ApiError> takeToolChoice(const Json &choice, ChatRequest &request) {
  if (choice == "none")
    request.tools.clear();
  else if (choice == "required")
    return requireCall({}, request);
  else if (choice.is_object()) {
    const std::string type = wordOf(choice, "type");
    const std::string name = wordOf(choice.value("function", choice), "name");
    if (type != "function" && type != "custom")
      return unservedError("tool_choice.type " + type, true);
    if (name.empty())
      return fieldError("tool_choice", "an object with the name of a function");
    return requireCall(name, request);
  } else if (choice != "auto" && !choice.is_null()) {
    return fieldError("tool_choice", "\"auto\", \"none\", \"required\" or an object");
  }
  return std::nullopt;
}

std::optional<ApiError> requireCall(std::string tool, ChatRequest &request) {
  if (request.tools.empty() ||
      (!tool.empty() &&
       std::ranges::find(request.tools, tool, &AnswerTool::name) == request.tools.end()))
    return fieldError("tool_choice", tool.empty()
                                         ? "left out where there are no tools"
                                         : "of one of the tools, which '" + tool + "' is not");
  request.mustCall = true;
  request.onlyTool = std::move(tool);
  return std::nullopt;
}

bool readThinking(const Json &value, ChatRequest &request) {
  if (!value.is_object() || value.empty())
    return value == Json::object();
  Json type = value.value("type", Json());
  request.variables["enable_thinking"] = type != "disabled";
  if (type == "enabled" && value.contains("budget_tokens")) {
    int64_t most = 0;
    if (!take(value["budget_tokens"], most, 0, int64_t(1) << 40))
      return false;
    request.each.markers.mostThought = uint64_t(most);
  }
  return type == "enabled" || type == "disabled" || type == "adaptive";
}

uint64_t mostThought(const ChatRequest &request, bool templateKnowsEffort) {
  const uint64_t given = request.each.markers.mostThought;
  if (given != guided::AnswerMarkers::unlimited || templateKnowsEffort)
    return given;
  return mostThoughtOf(wordOf(request.conversation, "reasoning_effort"));
}

void settle(ChatRequest &request) {
  request.includeUsage |= request.wantsUsage && request.stream;
  if (!request.variables.empty()) {
    Json &arguments = request.conversation["chat_template_kwargs"];
    Json told = std::move(request.variables);
    told.update(arguments.is_null() ? Json::object() : std::move(arguments));
    arguments = std::move(told);
  }
  request.each.choices = request.n;
  // The template has the model's prefix.
  request.each.addSpecial = false;
  if (request.logprobs)
    request.each.sampling.logprobs = request.topLogprobs;
}

ChatRequest newChatRequest(const SamplingParameters &defaults) {
  ChatRequest request;
  request.each.sampling = defaults;
  request.each.sampling.maxTokens = 0;
  request.each.sampling.seed = SamplingParameters::randomSeed();
  return request;
}

OrError<ChatRequest> readChatRequest(const Json &body, const SamplingParameters &defaults) {
  ChatRequest request = newChatRequest(defaults);
  Json plain = body, tools, choice;
  for (auto [name, place] : {std::pair{"tools", &tools}, {"tool_choice", &choice}})
    if (auto field = plain.find(name); field != plain.end()) {
      *place = std::move(*field);
      plain.erase(field);
    }
  std::optional<ApiError> error =
      readFields(plain, ownFields(), Form::Chats, request, request.each);
  if (!error && !request.conversation.contains("messages"))
    error = fieldError("messages", "given");
  if (!error)
    error = checkMessages(request.conversation["messages"]);
  if (!error && !tools.is_null())
    error = takeTools(tools, request);
  if (!error)
    error = takeToolChoice(choice, request);
  if (!error && request.includeUsage && !request.stream)
    error = fieldError("stream_options", "left out where stream is not true");
  if (!error && request.topLogprobs > 0 && !request.logprobs)
    error = fieldError("top_logprobs", "left out where logprobs is not true");
  if (error)
    return std::move(*error);
  settle(request);
  return request;
}

} // namespace ingot::runtime
