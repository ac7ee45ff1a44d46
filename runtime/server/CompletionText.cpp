// SPDX-License-Identifier: Apache-2.0
// Objects of the completions API, in the order of members that its users print.
#include "runtime/server/CompletionText.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {

/// JSON knows no infinity; what can never be drawn has a number far below every other.
static double finite(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0; }

static std::string nameOf(int32_t token, const TokenNames &names, bool asId) {
  return asId ? TokenNames::numberOf(token) : names.nameOf(token);
}

void LogprobLists::add(const TokenLogprob &own, std::span<const TokenLogprob> alternatives,
                       int64_t offset, const TokenNames &names, bool asIds) {
  std::string name = nameOf(own.token, names, asIds);
  tokens.push_back(name);
  values.push_back(finite(own.logprob));
  offsets.push_back(offset);
  Json top = Json::object();
  for (const TokenLogprob &entry : alternatives)
    top[nameOf(entry.token, names, asIds)] = finite(entry.logprob);
  // The token itself is always among them.
  if (!top.contains(name))
    top[name] = finite(own.logprob);
  tops.push_back(std::move(top));
}

void LogprobLists::add(const Event &event, int64_t offset, const TokenNames &names, bool asIds) {
  add({event.token, event.logprob}, event.top, offset, names, asIds);
}

void LogprobLists::addPrompt(const std::vector<PromptLogprob> &prompt,
                             std::span<const int64_t> begins, int32_t most, const TokenNames &names,
                             bool asIds) {
  for (size_t i = 0; i < prompt.size(); ++i) {
    const PromptLogprob &entry = prompt[i];
    std::span<const TokenLogprob> top = entry.top;
    add({entry.token, entry.logprob}, top.first(std::min(top.size(), size_t(most))), begins[i],
        names, asIds);
    if (i == 0) {
      values.back() = nullptr;
      tops.back() = nullptr;
    }
  }
}

Json promptLogprobsJson(const std::vector<PromptLogprob> &prompt, int32_t most,
                        const TokenNames &names) {
  Json list = Json::array();
  for (const PromptLogprob &entry : prompt) {
    if (list.empty()) {
      list.push_back(nullptr);
      continue;
    }
    Json &object = list.emplace_back(Json::object());
    auto add = [&](const TokenLogprob &one, Json rank) {
      object[std::to_string(one.token)] = {{"logprob", finite(one.logprob)},
                                           {"rank", std::move(rank)},
                                           {"decoded_token", names.nameOf(one.token)}};
    };
    // The rank of one that is not among the alternatives is not known.
    add({entry.token, entry.logprob}, nullptr);
    for (size_t i = 0; i < std::min(entry.top.size(), size_t(most)); ++i)
      add(entry.top[i], i + 1);
  }
  return list;
}

Json LogprobLists::take(int64_t end) {
  for (Json &offset : offsets)
    offset = std::min(offset.get<int64_t>(), end);
  Json lists = {{"text_offset", std::exchange(offsets, Json::array())},
                {"token_logprobs", std::exchange(values, Json::array())},
                {"tokens", std::exchange(tokens, Json::array())},
                {"top_logprobs", std::exchange(tops, Json::array())}};
  return lists;
}

/// "token", "logprob" and "bytes", which of the tokens of an answer together are its text.
static Json logprobJson(const TokenLogprob &one, const TokenNames &names) {
  Json bytes;
  if (std::optional<std::string> own = names.bytesOf(one.token)) {
    bytes = Json::array();
    for (char byte : *own)
      bytes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", names.nameOf(one.token)},
          {"logprob", finite(one.logprob)},
          {"bytes", std::move(bytes)}};
}

Json chatLogprobJson(const Event &event, const TokenNames &names) {
  Json entry = logprobJson({event.token, event.logprob}, names);
  Json &top = entry["top_logprobs"] = Json::array();
  for (const TokenLogprob &other : event.top)
    top.push_back(logprobJson(other, names));
  return entry;
}

Json failureJson(const Event &event) {
  return Json::parse(errorJson(apiError(event.error)))["error"];
}

Json usageJson(const Usage &usage) {
  return {{"prompt_tokens", usage.promptTokens},
          {"completion_tokens", usage.completionTokens},
          {"total_tokens", usage.promptTokens + usage.completionTokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cachedTokens}}}};
}

CompletionHead::CompletionHead(std::string id, const char *object, const ServedModel &model,
                               const std::string &asked)
    : id(std::move(id)), object(object), model(asked.empty() ? model.names.front() : asked) {
  using namespace std::chrono;
  created = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

Json CompletionHead::json() const {
  return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

std::string eventText(const Json &json) { return "data: " + textOf(json) + "\n\n"; }

const char *finishReason(FinishReason reason) {
  switch (reason) {
  case FinishReason::EndToken:
  case FinishReason::StopString:
    return "stop";
  case FinishReason::Length:
  case FinishReason::Context:
    return "length";
  case FinishReason::Cancelled:
    return "abort";
  case FinishReason::Failed:
  case FinishReason::Deadline:
    return "error";
  case FinishReason::None:
    break;
  }
  return nullptr;
}

Json choiceJson(int64_t index, std::string_view text, Json logprobs, FinishReason finish) {
  const char *reason = finishReason(finish);
  return {{"index", index},
          {"text", text},
          {"logprobs", std::move(logprobs)},
          {"finish_reason", reason ? Json(reason) : Json()}};
}

} // namespace ingot::runtime
