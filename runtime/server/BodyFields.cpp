// SPDX-License-Identifier: Apache-2.0
// The readers of what all paths share.
#include "runtime/server/BodyFields.h"

#include "runtime/server/FormFields.h"

#include "runtime/core/NearestName.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

using S = SamplingParameters;

template <auto member> bool readSampling(const Json &value, Request &request) {
  return take(value, request.sampling.*member);
}

template <bool Request::*member> bool readFlag(const Json &value, Request &request) {
  return take(value, request.*member);
}

bool readSeed(const Json &value, Request &request) {
  if (value.is_number_unsigned()) {
    request.sampling.seed = value.get<uint64_t>();
    return true;
  }
  int64_t seed = 0;
  bool read = take(value, seed, INT64_MIN, INT64_MAX);
  request.sampling.seed = uint64_t(seed);
  return read;
}

bool readBias(const Json &value, Request &request) {
  if (!value.is_object())
    return false;
  for (const auto &[key, entry] : value.items()) {
    Json token = Json::parse(key, nullptr, false);
    auto &[id, bias] = request.sampling.bias.emplace_back();
    if (!take(token, id, 0, INT32_MAX) || !take(entry, bias) || bias < -100 || bias > 100)
      return false;
  }
  return true;
}

bool readMinTokens(const Json &value, Request &request) {
  return take(value, request.sampling.minTokens, 0, int64_t(1) << 40);
}

bool readNgram(const Json &value, Request &request) {
  return take(value, request.sampling.noRepeatNgramSize, 0);
}

bool readAllowed(const Json &value, Request &request) {
  return take(value, request.sampling.allowed) && !request.sampling.allowed.empty();
}

bool readSalt(const Json &value, Request &request) { return take(value, request.cacheSalt); }

bool readPriority(const Json &value, Request &request) { return take(value, request.priority); }

} // namespace

bool readStop(const Json &value, Request &request) {
  if (value == "") // none
    return true;
  if (!value.is_string())
    return take(value, request.sampling.stopStrings);
  return take(value, request.sampling.stopStrings.emplace_back());
}

bool readStreamOptions(const Json &value, bool &includeUsage) {
  if (!value.is_object())
    return false;
  for (const auto &[key, entry] : value.items()) {
    bool flag = false;
    if (!take(entry, flag))
      return false;
    if (key == "include_usage")
      includeUsage = flag;
    else if (key != "include_obfuscation" && flag)
      return false;
  }
  return true;
}

bool readTopK(const Json &value, Request &request) {
  bool read = take(value, request.sampling.topK, -1, INT32_MAX);
  request.sampling.topK = std::max(request.sampling.topK, 0);
  return read;
}

const BodyFields<Request> &generationFields() {
  static const BodyFields<Request> fields = {
      {"temperature", {readSampling<&S::temperature>, "a number from 0 to 100"}},
      {"top_p", {readSampling<&S::topP>, "a number from 0 to 1"}},
      {"min_p", {readSampling<&S::minP>, "a number from 0 to 1"}},
      {"typical_p", {readSampling<&S::typicalP>, "a number from 0 to 1"}},
      {"top_k", {readTopK, "an integer: 0 or -1 for off, or more"}},
      {"repetition_penalty", {readSampling<&S::repetitionPenalty>, "a number from 0.01 to 100"}},
      {"presence_penalty", {readSampling<&S::presencePenalty>, "a number from -100 to 100"}},
      {"frequency_penalty", {readSampling<&S::frequencyPenalty>, "a number from -100 to 100"}},
      {"seed", {readSeed, "an integer of 64 bits"}},
      {"sampling_seed", {readSeed, "an integer of 64 bits"}}, // SGLang's name
      {"logit_bias", {readBias, "an object of token ids, each with a number from -100 to 100"}},
      {"stop", {readStop, "a string or a list of strings"}},
      {"stop_token_ids", {readSampling<&S::stopTokens>, "a list of token ids"}},
      {"include_stop_str_in_output", {readSampling<&S::includeStop>, "true or false"}},
      {"min_tokens", {readMinTokens, "an integer of at least 0"}},
      {"bad_words", {readSampling<&S::badWords>, "a list of strings"}},
      {"no_repeat_ngram_size", {readNgram, "an integer of at least 0"}},
      {"allowed_token_ids", {readAllowed, "a list of token ids that is not empty"}},
      {"cache_salt", {readSalt, "a string"}},
      {"ignore_eos", {readSampling<&S::ignoreEos>, "true or false"}},
      {"skip_special_tokens", {readFlag<&Request::skipSpecial>, "true or false"}},
      {"response_format",
       {readResponseFormat, "an object of the type text, json_object, or json_schema with its "
                            "json_schema.schema, and the only form of the answer"}},
      {"structured_outputs",
       {readStructuredOutputs, "an object of one of json, regex, choice, grammar and json_object, "
                               "and the only form of the answer"}},
      {"json_schema", {readSchema, "a JSON Schema, and the only form of the answer"}},
      {"regex", {readRegex, "a regular expression, and the only form of the answer"}},
      {"grammar", {readGrammar, "a grammar in GBNF or Lark, and the only form of the answer"}},
      {"priority", {readPriority, "an integer; lower ones come first"}},
  };
  return fields;
}

ApiError unknownField(const std::string &name, std::vector<std::string> own) {
  for (std::string &common : namesOf(generationFields()))
    own.push_back(std::move(common));
  return unservedError(name, false, didYouMean(name, own));
}

} // namespace ingot::runtime
