// SPDX-License-Identifier: Apache-2.0
// JSON of strangers: every value is looked at before it is used.
#include "runtime/tools/load/CompletionChunk.h"

#include "runtime/tools/Table.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {
namespace {

using nlohmann::json;

constexpr size_t quoted = 200; // bytes of a stranger's words in a message
constexpr uint64_t mostTokens = uint64_t(1) << 31;

/// A member of an object, or null.
const json *member(const json &object, const char *name) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string stringOf(const json *value) {
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

std::optional<int64_t> tokensOf(const json &usage, const char *name) {
  const json *value = member(usage, name);
  if (!value || !value->is_number_unsigned() || value->get<uint64_t>() > mostTokens)
    return std::nullopt;
  return int64_t(value->get<uint64_t>());
}

Status malformed(std::string_view data, const std::string &what) {
  return Status::error(
      "INGOT-E7254", what + ": '" + shortened(printable(data.substr(0, 2 * quoted)), quoted) + "'",
      "check that the address is one of completions, and report the server's "
      "error to its makers");
}

/// The message of an error as OpenAI's API has it, as others write it, or nothing.
std::string messageIn(const json &body) {
  const json *error = member(body, "error");
  if (error && error->is_string())
    return error->get<std::string>();
  std::string message = stringOf(error ? member(*error, "message") : member(body, "message"));
  return message.empty() && error ? "no message" : message;
}

std::string cut(std::string_view text) {
  return shortened(printable(text.substr(0, 2 * quoted)), quoted);
}

} // namespace

Result<CompletionChunk> CompletionChunk::read(std::string_view data) {
  CompletionChunk chunk;
  if (data == "[DONE]") {
    chunk.isLast = true;
    return chunk;
  }
  json value = json::parse(data, nullptr, false);
  if (!value.is_object())
    return malformed(data, "an event of the stream is no JSON object");
  if (member(value, "error"))
    return Status::error("INGOT-E7255", "the server ended the stream: " + cut(messageIn(value)),
                         "see the server's log");
  const json *choices = member(value, "choices");
  const json *usage = member(value, "usage");
  if ((!choices || !choices->is_array()) && !usage)
    return malformed(data, "an event of the stream has neither choices nor usage");
  if (choices && choices->is_array() && !choices->empty()) {
    const json &choice = choices->front();
    const json *text = member(choice, "text");
    if (!choice.is_object() || (text && !text->is_string()))
      return malformed(data, "a choice of the stream has no text");
    chunk.text = stringOf(text);
    chunk.finish = stringOf(member(choice, "finish_reason"));
    // The last chunk may only say why the answer has ended.
    chunk.hasTokens = !chunk.text.empty() || (text && chunk.finish.empty());
  }
  if (usage) {
    chunk.promptTokens = tokensOf(*usage, "prompt_tokens");
    chunk.outputTokens = tokensOf(*usage, "completion_tokens");
    if (const json *details = member(*usage, "prompt_tokens_details"))
      chunk.cachedTokens = tokensOf(*details, "cached_tokens");
  }
  return chunk;
}

std::string errorMessage(std::string_view body) {
  std::string message = messageIn(json::parse(body, nullptr, false));
  return message.empty() ? cut(body) : cut(message);
}

Result<ListedModel> ListedModel::read(std::string_view body, const std::string &wanted) {
  json value = json::parse(body, nullptr, false);
  const json *models = member(value, "data");
  if (!models || !models->is_array())
    return Status::error("INGOT-E7243", "/v1/models answers no list of models: '" + cut(body) + "'",
                         "give --url the address of a server of OpenAI's API");
  for (const json &entry : *models) {
    ListedModel model{stringOf(member(entry, "id"))};
    if (model.name.empty() || (!wanted.empty() && model.name != wanted))
      continue;
    model.context = tokensOf(entry, "max_model_len").value_or(0);
    if (const json *facts = member(entry, "meta")) {
      model.vocabulary = tokensOf(*facts, "n_vocab").value_or(0);
      model.context = tokensOf(*facts, "n_ctx").value_or(model.context);
    }
    return model;
  }
  return Status::error("INGOT-E7243",
                       wanted.empty() ? std::string("the server has no model")
                                      : "the server has no model '" + printable(wanted) + "'",
                       "ask the server for its models at /v1/models");
}

} // namespace ingot::runtime
