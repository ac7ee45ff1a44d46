// SPDX-License-Identifier: Apache-2.0
// Range checks of sampling parameters.
#include "runtime/serving/SamplingParameters.h"

#include "runtime/core/SystemRandom.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/serving/Unicode.h"

#include <cmath>

namespace ingot::runtime {
namespace {

constexpr size_t maximumStopStrings = 64;
constexpr size_t maximumTextBytes = 1024;
constexpr size_t maximumBadWords = 1024;
constexpr size_t maximumBadTokens = 128;

Status outside(const std::string &name, const std::string &range) {
  return Status::error("INGOT-E6006", "sampling parameter " + name + " is outside its range",
                       "choose " + range);
}

/// Texts that a parameter lists: so many, of so many bytes of UTF-8.
Status checkTexts(const char *name, const std::vector<std::string> &texts, size_t most) {
  if (texts.size() > most)
    return outside(name, "at most " + std::to_string(most) + " texts");
  for (const std::string &text : texts)
    if (text.empty() || text.size() > maximumTextBytes)
      return outside(name, "texts of 1 to " + std::to_string(maximumTextBytes) + " bytes");
    else if (validUtf8Prefix(text) != text.size())
      return outside(name, "texts of UTF-8");
  return {};
}

Status checkLists(const SamplingParameters &sampling, uint32_t vocabulary) {
  auto isToken = [&](int32_t token) { return token >= 0 && uint32_t(token) < vocabulary; };
  auto areTokens = [&](const std::vector<int32_t> &tokens) {
    return std::all_of(tokens.begin(), tokens.end(), isToken);
  };
  if (sampling.bias.size() > INGOT_MAX_BIAS)
    return outside("logit_bias", "at most " + std::to_string(INGOT_MAX_BIAS) + " tokens");
  for (auto [token, value] : sampling.bias)
    if (!isToken(token) || !std::isfinite(value))
      return outside("logit_bias", "tokens of the vocabulary and finite values");
  if (!areTokens(sampling.allowed))
    return outside("allowed_tokens", "tokens of the vocabulary");
  if (!areTokens(sampling.stopTokens))
    return outside("stop_tokens", "tokens of the vocabulary");
  if (sampling.badSequences.size() > maximumBadWords)
    return outside("bad_words", "at most " + std::to_string(maximumBadWords) + " token sequences");
  for (const std::vector<int32_t> &tokens : sampling.badSequences)
    if (tokens.empty() || tokens.size() > maximumBadTokens || !areTokens(tokens))
      return outside("bad_words", "sequences of 1 to " + std::to_string(maximumBadTokens) +
                                      " tokens of the vocabulary");
  if (Status status = checkTexts("bad_words", sampling.badWords, maximumBadWords); !status.ok())
    return status;
  return checkTexts("stop", sampling.stopStrings, maximumStopStrings);
}

} // namespace

uint64_t SamplingParameters::randomSeed() {
  constexpr int unusedBits = 64 - 53;
  return systemRandom() >> unusedBits;
}

Status SamplingParameters::validate(uint32_t vocabulary) const {
  struct {
    const char *name;
    float value, minimum, maximum;
    const char *range;
  } reals[] = {
      {"temperature", temperature, 0, 100, "0 to 100"},
      {"top_p", topP, 0, 1, "0 to 1"},
      {"min_p", minP, 0, 1, "0 to 1"},
      {"typical_p", typicalP, 0, 1, "0 to 1"},
      {"repetition_penalty", repetitionPenalty, 0.01f, 100, "0.01 to 100"},
      {"presence_penalty", presencePenalty, -100, 100, "-100 to 100"},
      {"frequency_penalty", frequencyPenalty, -100, 100, "-100 to 100"},
  };
  for (const auto &real : reals)
    if (!(real.value >= real.minimum && real.value <= real.maximum))
      return outside(real.name, real.range);
  if (topK < 0)
    return outside("top_k", "0 (off) or more");
  if (noRepeatNgramSize < 0)
    return outside("no_repeat_ngram_size", "0 (off) or more");
  for (auto [name, count] : {std::pair("logprobs", logprobs), {"prompt_logprobs", promptLogprobs}})
    if (count < -1 || count > INGOT_MAX_LOGPROBS)
      return outside(name, "-1 (none) to " + std::to_string(INGOT_MAX_LOGPROBS));
  if (maxTokens < 0)
    return outside("max_tokens", "0 (up to the context) or more");
  if (minTokens < 0 || (maxTokens > 0 && minTokens > maxTokens))
    return outside("min_tokens", "0 to max_tokens");
  return checkLists(*this, vocabulary);
}

} // namespace ingot::runtime
