// SPDX-License-Identifier: Apache-2.0
// A reader for each field; what has none is refused by name or known to have no effect.
#include "runtime/server/CompletionRequest.h"

#include "runtime/server/BodyFields.h"

namespace ingot::runtime {
namespace {

constexpr int64_t mostPrompts = 1024, mostChoices = 128;
/// OpenAI's default.
constexpr int64_t usualTokens = 16;

using C = CompletionRequest;

template <bool C::*member> bool readFlag(const Json &value, C &request) {
  return take(value, request.*member);
}

bool readPrompt(const Json &value, C &request) {
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

bool readModel(const Json &value, C &request) { return take(value, request.model); }

template <int32_t C::*member> bool readChoices(const Json &value, C &request) {
  return take(value, request.*member, 1, mostChoices);
}

bool readMaxTokens(const Json &value, C &request) {
  bool read = take(value, request.each.sampling.maxTokens, 0, int64_t(1) << 40);
  request.each.promptOnly = request.each.sampling.maxTokens == 0;
  return read;
}

bool readLogprobs(const Json &value, C &request) {
  return value == false || take(value, request.each.sampling.logprobs, 0, 20);
}

bool readPromptLogprobs(const Json &value, C &request) {
  return value == false || take(value, request.promptLogprobs, 0, 20);
}

template <bool Request::*member> bool readSpecial(const Json &value, C &request) {
  return take(value, request.each.*member);
}

bool readOptions(const Json &value, C &request) {
  return readStreamOptions(value, request.includeUsage);
}

const BodyFields<C> &ownFields() {
  static const BodyFields<C> fields = {
      {"model", {readModel, "a string"}},
      {"prompt",
       {readPrompt,
        "a text, a list of token ids, or a list of 1 to 1024 of either, none of them empty"}},
      {"max_tokens", {readMaxTokens, "an integer of at least 0"}},
      {"n", {readChoices<&C::n>, "an integer from 1 to 128"}},
      {"best_of", {readChoices<&C::bestOf>, "an integer from 1 to 128"}},
      {"stream", {readFlag<&C::stream>, "true or false"}},
      {"stream_options", {readOptions, "an object with include_usage, which is true or false"}},
      {"echo", {readFlag<&C::echo>, "true or false"}},
      {"return_tokens_as_token_ids", {readFlag<&C::tokensAsIds>, "true or false"}},
      {"logprobs", {readLogprobs, "an integer from 0 to 20"}},
      {"prompt_logprobs", {readPromptLogprobs, "an integer from 0 to 20"}},
      {"add_special_tokens", {readSpecial<&Request::addSpecial>, "true or false"}},
      {"parse_special", {readSpecial<&Request::parseSpecial>, "true or false"}},
  };
  return fields;
}

std::optional<ApiError> checkTogether(const Json &body, C &request) {
  if (request.prompts.empty())
    return fieldError("prompt", "given");
  if (request.each.promptOnly && !request.echo && request.promptLogprobs < 0)
    return fieldError("max_tokens", "at least 1 without echo or prompt_logprobs");
  if (request.includeUsage && !request.stream)
    return fieldError("stream_options", "left out where stream is not true");
  if (body.contains("best_of") && request.bestOf < request.n)
    return fieldError("best_of", "at least n");
  if (request.stream && request.bestOf > request.n)
    return fieldError("best_of", "n in a stream");
  // With an echo the log-probabilities are those of the prompt too.
  request.each.sampling.promptLogprobs =
      std::max(request.promptLogprobs, request.echo ? request.each.sampling.logprobs : -1);
  request.bestOf = std::max(request.bestOf, request.n);
  request.each.choices = request.bestOf;
  return std::nullopt;
}

} // namespace

OrError<CompletionRequest> readCompletionRequest(const Json &body,
                                                 const SamplingParameters &defaults) {
  CompletionRequest request;
  // Clients that apply a chat template themselves spell special tokens out.
  request.each.parseSpecial = true;
  request.each.sampling = defaults;
  request.each.sampling.maxTokens = usualTokens;
  request.each.sampling.seed = SamplingParameters::randomSeed();
  std::optional<ApiError> error =
      readFields(body, ownFields(), Form::Completions, request, request.each);
  if (!error)
    error = checkTogether(body, request);
  if (error)
    return std::move(*error);
  return request;
}

std::vector<Request> CompletionRequest::requests() const {
  std::vector<Request> requests(prompts.size(), each);
  for (size_t i = 0; i < prompts.size(); ++i) {
    requests[i].text = prompts[i].text;
    requests[i].tokens = prompts[i].tokens;
    // The mean log-probability decides between answers.
    if (bestOf > n)
      requests[i].sampling.logprobs = std::max(each.sampling.logprobs, 0);
  }
  return requests;
}

} // namespace ingot::runtime
