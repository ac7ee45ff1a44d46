// SPDX-License-Identifier: Apache-2.0
// One line for each field, grouped by who sends it.
#include "runtime/server/UnservedFields.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

constexpr uint8_t all = Completions | Chats | Responses | Messages, openAi = all - Messages,
                  conversations = all - Completions, texts = Completions | Chats;
constexpr std::string_view anything = UnservedField::anything;

constexpr UnservedField table[] = {
    // OpenAI's
    {"audio", Chats},
    {"background", Responses},
    {"background_options", Responses},
    {"context_management", Responses},
    {"conversation", Responses},
    {"function_call", Chats, R"(["auto", "none"])"},
    {"functions", Chats},
    {"max_tool_calls", Responses, anything},
    {"metadata", all, anything},
    {"moderation", Chats | Responses},
    {"prediction", Chats},
    {"previous_response_id", Responses},
    {"prompt", Responses},
    {"prompt_cache_key", openAi, anything},
    {"prompt_cache_options", Chats | Responses, anything},
    {"prompt_cache_retention", Chats | Responses, anything},
    {"safety_identifier", openAi, anything},
    {"service_tier", all, anything},
    {"stop", Responses | Messages},
    {"store", Responses},
    {"store", texts, anything},
    {"suffix", Completions},
    {"user", openAi, anything},
    {"web_search_options", Chats},
    // Anthropic's
    {"betas", Messages, anything},
    {"cache_control", Messages, anything},
    {"compaction", Messages},
    {"container", Messages},
    {"diagnostics", Messages, anything},
    {"fallbacks", Messages, anything},
    {"inference_geo", Messages, anything},
    {"mcp_servers", Messages},
    {"output_format", Messages},
    {"speed", Messages, anything},
    {"thread", Messages},
    // vLLM's
    {"add_special_tokens", Chats},
    {"chat_template", Chats},
    {"data_parallel_rank", texts},
    {"early_stopping", all},
    {"echo", conversations},
    {"guided_choice", all, "[null]"},
    {"guided_decoding_backend", all},
    {"guided_grammar", all, "[null]"},
    {"guided_json", all, "[null]"},
    {"guided_regex", all, "[null]"},
    {"guided_whitespace_pattern", all},
    {"kv_transfer_params", all},
    {"length_penalty", all, "[1]"},
    {"logits_processors", all},
    {"media_io_kwargs", Chats},
    {"mm_processor_kwargs", Chats},
    {"prompt_embeds", Completions},
    {"prompt_logprobs", conversations},
    {"repetition_detection", all},
    {"request_id", all, anything},
    {"return_token_ids", texts},
    {"return_tokens_as_token_ids", Chats},
    {"spaces_between_special_tokens", all, anything},
    {"structural_tag", all},
    {"thinking_token_budget", all - Chats},
    {"truncate_prompt_tokens", all},
    {"use_beam_search", all},
    {"vllm_xargs", all},
    // SGLang's and its router's
    {"bootstrap_host", texts},
    {"bootstrap_port", texts},
    {"bootstrap_room", texts},
    {"custom_logit_processor", texts},
    {"custom_params", texts},
    {"ebnf", texts},
    {"lora", all},
    {"lora_path", texts},
    {"no_stop_trim", texts},
    {"return_hidden_states", texts},
    {"rid", texts, anything},
    {"separate_reasoning", Chats, "[true]"},
    {"session_params", texts},
    {"stop_regex", texts},
    {"stream_reasoning", Chats, "[true]"},
    // Routers' of many servers
    {"litellm_metadata", all, anything},
    {"models", all, anything},
    {"plugins", all},
    {"provider", all, anything},
    {"route", all, anything},
    {"session_id", all, anything},
    {"top_a", all, "[0]"},
    {"trace", all, anything},
    {"transforms", all},
    // llama.cpp's
    {"cache_prompt", texts, anything},
    {"dry_multiplier", texts, "[0]"},
    {"id_slot", texts, anything},
    {"mirostat", texts, "[0]"},
    {"n_probs", texts, "[0]"},
    {"reasoning_format", Chats, R"(["auto", "deepseek"])"},
    {"repeat_penalty", texts, "[1]"},
    {"samplers", texts},
    {"timings_per_token", texts, anything},
    {"xtc_probability", texts, "[0]"},
    // Codex's
    {"client_metadata", Responses, anything},
};

} // namespace

bool isNeutral(const Json &value) {
  return value.is_null() || value == false || value == "" ||
         ((value.is_array() || value.is_object()) && value.empty());
}

bool UnservedField::takes(const Json &value) const {
  if (neutral.empty() || isIgnored() || value.is_null())
    return isIgnored() || isNeutral(value);
  Json values = Json::parse(neutral);
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::span<const UnservedField> unservedFields() { return table; }

const UnservedField *unservedField(std::string_view name, Form form) {
  const auto *found =
      std::find_if(std::begin(table), std::end(table), [&](const UnservedField &field) {
        return field.name == name && (field.forms & form);
      });
  return found == std::end(table) ? nullptr : found;
}

ApiError unservedError(const std::string &name, bool known, const std::string &meant) {
  return {400, "INGOT-E7202",
          name + (known ? " is not served by this version" : " is no field of this request") +
              meant + "; leave it out",
          name};
}

} // namespace ingot::runtime
