// SPDX-License-Identifier: Apache-2.0
// Objects of the completions API, in the order of members that its users print.
#include "runtime/server/CompletionText.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {

/// JSON knows no infinity; what can never be drawn has a number far below every other.
static double finite(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0; }

void LogprobLists::add(const Event &event, int64_t offset, const TokenNames &names, bool asIds) {
  auto name = [&](int32_t token) {
    return asIds ? TokenNames::numberOf(token) : names.nameOf(token);
  };
  std::string own = name(event.token);
  tokens.push_back(own);
  values.push_back(finite(event.logprob));
  offsets.push_back(offset);
  Json top = Json::object();
  for (const TokenLogprob &entry : event.top)
    top[name(entry.token)] = finite(entry.logprob);
  // The drawn token is always among them.
  if (!top.contains(own))
    top[own] = finite(event.logprob);
  tops.push_back(std::move(top));
}

Json LogprobLists::take() {
  Json lists = {{"text_offset", std::exchange(offsets, Json::array())},
                {"token_logprobs", std::exchange(values, Json::array())},
                {"tokens", std::exchange(tokens, Json::array())},
                {"top_logprobs", std::exchange(tops, Json::array())}};
  return lists;
}

Json Usage::json() const {
  return {{"prompt_tokens", promptTokens},
          {"completion_tokens", completionTokens},
          {"total_tokens", promptTokens + completionTokens}};
}

Json CompletionHead::json() const {
  return {{"id", id}, {"object", "text_completion"}, {"created", created}, {"model", model}};
}

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

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

} // namespace ingot::runtime
