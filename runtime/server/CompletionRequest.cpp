// SPDX-License-Identifier: Apache-2.0
// One reader per field; what has none is refused by name or known to have no effect.
#include "runtime/server/CompletionRequest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace ingot::runtime {
namespace {

constexpr int64_t mostPrompts = 1024, mostChoices = 128;
/// OpenAI's default.
constexpr int64_t usualTokens = 16;

// Both lists stand in docs/serving.md, which a test compares.
constexpr std::string_view refused[] = {"early_stopping",
                                        "guided_choice",
                                        "guided_decoding_backend",
                                        "guided_grammar",
                                        "guided_json",
                                        "guided_regex",
                                        "guided_whitespace_pattern",
                                        "kv_transfer_params",
                                        "length_penalty",
                                        "logits_processors",
                                        "lora",
                                        "prompt_embeds",
                                        "response_format",
                                        "structural_tag",
                                        "structured_outputs",
                                        "suffix",
                                        "truncate_prompt_tokens",
                                        "use_beam_search",
                                        "vllm_xargs"};
constexpr std::string_view ignored[] = {
    "metadata", "prompt_cache_key", "request_id", "safety_identifier", "service_tier", "store",
    "user"};

bool isIn(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Whether a field asks for nothing.
bool isNeutral(const Json &value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>());
}

class Reader {
public:
  explicit Reader(CompletionRequest &request) : request(request) {}
  std::optional<ApiError> read(const Json &body);

private:
  struct Field {
    bool (Reader::*read)(const Json &value);
    const char *must; ///< what a value must be
  };
  static const std::map<std::string_view, Field> &fields();

  SamplingParameters &sampling() { return request.each.sampling; }

  // What needs more than one call of `take`:
  bool readPrompt(const Json &value);
  bool readStop(const Json &value);
  bool readSeed(const Json &value);
  bool readBias(const Json &value);
  bool readStreamOptions(const Json &value);
  template <float SamplingParameters::*member> bool readReal(const Json &value) {
    return take(value, sampling().*member);
  }
  template <bool CompletionRequest::*member> bool readFlag(const Json &value) {
    return take(value, request.*member);
  }
  template <bool Request::*member> bool readEachFlag(const Json &value) {
    return take(value, request.each.*member);
  }
  bool readModel(const Json &value) { return take(value, request.model); }
  bool readN(const Json &value) { return take(value, request.n, 1, mostChoices); }
  bool readBestOf(const Json &value) { return take(value, request.bestOf, 1, mostChoices); }
  bool readMaxTokens(const Json &value) {
    return take(value, sampling().maxTokens, 1, int64_t(1) << 40);
  }
  bool readTopK(const Json &value) {
    // -1 is vLLM's for "off".
    bool read = take(value, sampling().topK, -1, INT32_MAX);
    sampling().topK = std::max(sampling().topK, 0);
    return read;
  }
  bool readLogprobs(const Json &value) { return take(value, sampling().logprobs, 0, 20); }
  bool readPromptLogprobs(const Json &value) { return take(value, request.promptLogprobs, 0, 20); }
  bool readMinTokens(const Json &value) {
    return take(value, sampling().minTokens, 0, int64_t(1) << 40);
  }
  bool readNgram(const Json &value) { return take(value, sampling().noRepeatNgramSize, 0); }
  bool readBadWords(const Json &value) { return take(value, sampling().badWords); }
  bool readAllowed(const Json &value) {
    return take(value, sampling().allowed) && !sampling().allowed.empty();
  }
  bool readSalt(const Json &value) {
    return take(value, request.each.cacheSalt) && !request.each.cacheSalt.empty();
  }
  bool readIgnoreEos(const Json &value) { return take(value, sampling().ignoreEos); }
  bool readIncludeStop(const Json &value) { return take(value, sampling().includeStop); }
  bool readStopTokens(const Json &value) { return take(value, sampling().stopTokens); }
  bool readPriority(const Json &value) { return take(value, request.each.priority); }

  CompletionRequest &request;
  bool hasStreamOptions = false;
};

bool Reader::readPrompt(const Json &value) {
  auto takeOne = [&](const Json &one) {
    CompletionPrompt &prompt = request.prompts.emplace_back();
    return one.is_string() ? take(one, prompt.text)
                           : take(one, prompt.tokens) && !prompt.tokens.empty();
  };
  bool isList = value.is_array() && !value.empty() && !value[0].is_number();
  if (!isList)
    return takeOne(value);
  return int64_t(value.size()) <= mostPrompts && std::all_of(value.begin(), value.end(), takeOne);
}

bool Reader::readStop(const Json &value) {
  if (!value.is_string())
    return take(value, sampling().stopStrings);
  return take(value, sampling().stopStrings.emplace_back());
}

bool Reader::readSeed(const Json &value) {
  if (value.is_number_unsigned()) {
    sampling().seed = value.get<uint64_t>();
    return true;
  }
  int64_t seed = 0;
  bool read = take(value, seed, INT64_MIN, INT64_MAX);
  sampling().seed = uint64_t(seed);
  return read;
}

bool Reader::readBias(const Json &value) {
  if (!value.is_object())
    return false;
  for (const auto &[key, entry] : value.items()) {
    Json token = Json::parse(key, nullptr, false);
    auto &[id, bias] = sampling().bias.emplace_back();
    if (!take(token, id, 0, INT32_MAX) || !take(entry, bias) || bias < -100 || bias > 100)
      return false;
  }
  return true;
}

bool Reader::readStreamOptions(const Json &value) {
  hasStreamOptions = true;
  if (!value.is_object())
    return false;
  for (const auto &[key, entry] : value.items()) {
    bool flag = false;
    if (!take(entry, flag))
      return false;
    if (key == "include_usage")
      request.includeUsage = flag;
    else if (key != "include_obfuscation" && flag)
      return false;
  }
  return true;
}

const std::map<std::string_view, Reader::Field> &Reader::fields() {
  using S = SamplingParameters;
  using C = CompletionRequest;
  static const std::map<std::string_view, Field> map = {
      {"model", {&Reader::readModel, "a string"}},
      {"prompt",
       {&Reader::readPrompt,
        "a text, a list of token ids, or a list of 1 to 1024 of either, none of them empty"}},
      {"max_tokens", {&Reader::readMaxTokens, "an integer of at least 1"}},
      {"n", {&Reader::readN, "an integer from 1 to 128"}},
      {"best_of", {&Reader::readBestOf, "an integer from 1 to 128"}},
      {"stream", {&Reader::readFlag<&C::stream>, "true or false"}},
      {"stream_options",
       {&Reader::readStreamOptions, "an object with include_usage, which is true or false"}},
      {"echo", {&Reader::readFlag<&C::echo>, "true or false"}},
      {"return_tokens_as_token_ids", {&Reader::readFlag<&C::tokensAsIds>, "true or false"}},
      {"logprobs", {&Reader::readLogprobs, "an integer from 0 to 20"}},
      {"temperature", {&Reader::readReal<&S::temperature>, "a number from 0 to 100"}},
      {"top_p", {&Reader::readReal<&S::topP>, "a number from 0 to 1"}},
      {"min_p", {&Reader::readReal<&S::minP>, "a number from 0 to 1"}},
      {"typical_p", {&Reader::readReal<&S::typicalP>, "a number from 0 to 1"}},
      {"top_k", {&Reader::readTopK, "an integer: 0 or -1 for off, or more"}},
      {"repetition_penalty",
       {&Reader::readReal<&S::repetitionPenalty>, "a number from 0.01 to 100"}},
      {"presence_penalty", {&Reader::readReal<&S::presencePenalty>, "a number from -100 to 100"}},
      {"frequency_penalty", {&Reader::readReal<&S::frequencyPenalty>, "a number from -100 to 100"}},
      {"seed", {&Reader::readSeed, "an integer of 64 bits"}},
      {"logit_bias",
       {&Reader::readBias, "an object of token ids, each with a number from -100 to 100"}},
      {"stop", {&Reader::readStop, "a string or a list of strings"}},
      {"stop_token_ids", {&Reader::readStopTokens, "a list of token ids"}},
      {"include_stop_str_in_output", {&Reader::readIncludeStop, "true or false"}},
      {"min_tokens", {&Reader::readMinTokens, "an integer of at least 0"}},
      {"bad_words", {&Reader::readBadWords, "a list of strings"}},
      {"no_repeat_ngram_size", {&Reader::readNgram, "an integer of at least 0"}},
      {"allowed_token_ids", {&Reader::readAllowed, "a list of token ids that is not empty"}},
      {"prompt_logprobs", {&Reader::readPromptLogprobs, "an integer from 0 to 20"}},
      {"cache_salt", {&Reader::readSalt, "a string that is not empty"}},
      {"ignore_eos", {&Reader::readIgnoreEos, "true or false"}},
      {"skip_special_tokens", {&Reader::readEachFlag<&Request::skipSpecial>, "true or false"}},
      {"add_special_tokens", {&Reader::readEachFlag<&Request::addSpecial>, "true or false"}},
      {"priority", {&Reader::readPriority, "an integer; lower ones come first"}},
  };
  return map;
}

std::optional<ApiError> Reader::read(const Json &body) {
  for (const auto &[name, value] : body.items()) {
    if (isIn(ignored, name) || value.is_null())
      continue;
    auto field = fields().find(name);
    if (field != fields().end()) {
      if (!(this->*field->second.read)(value))
        return fieldError(name, field->second.must);
      continue;
    }
    if (isIn(refused, name) && isNeutral(value))
      continue;
    return ApiError{400, "INGOT-E7202",
                    name +
                        (isIn(refused, name) ? " is not served by this version"
                                             : " is no field of this request") +
                        "; leave it out",
                    name};
  }
  if (request.prompts.empty())
    return fieldError("prompt", "given");
  if (hasStreamOptions && !request.stream)
    return fieldError("stream_options", "left out where stream is not true");
  if (body.contains("best_of") && request.bestOf < request.n)
    return fieldError("best_of", "at least n");
  if (request.stream && request.bestOf > request.n)
    return fieldError("best_of", "n in a stream");
  // With an echo the log-probabilities are those of the prompt too.
  sampling().promptLogprobs =
      std::max(request.promptLogprobs, request.echo ? sampling().logprobs : -1);
  request.bestOf = std::max(request.bestOf, request.n);
  request.each.choices = request.bestOf;
  return std::nullopt;
}

} // namespace

OrError<CompletionRequest> readCompletionRequest(const Json &body,
                                                 const SamplingParameters &defaults) {
  CompletionRequest request;
  request.each.sampling = defaults;
  request.each.sampling.maxTokens = usualTokens;
  request.each.sampling.seed = SamplingParameters::randomSeed();
  if (std::optional<ApiError> error = Reader(request).read(body))
    return std::move(*error);
  return request;
}

std::vector<std::string_view> refusedFields() { return {std::begin(refused), std::end(refused)}; }
std::vector<std::string_view> ignoredFields() { return {std::begin(ignored), std::end(ignored)}; }

} // namespace ingot::runtime
