// SPDX-License-Identifier: Apache-2.0
// Chunks of text with an echo and log-probabilities; the best of several answers.
#include "runtime/server/CompletionWriter.h"

#include "runtime/serving/PromptOffsets.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ingot::runtime {

CompletionWriter::CompletionWriter(const ServedModel &model, CompletionRequest asked,
                                   const std::string &id)
    : model(model), request(std::move(asked)),
      head("cmpl-" + id, "text_completion", model, request.model), prompts(request.prompts.size()) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].answers.resize(size_t(request.bestOf));
    const CompletionPrompt &prompt = request.prompts[i];
    if (request.echo && !prompt.tokens.empty() && model.loop->tokenizer())
      prompts[i].echo =
          model.loop->tokenizer()->decode(prompt.tokens, {.skipSpecial = request.each.skipSpecial});
    else if (request.echo)
      prompts[i].echo = prompt.text;
    prompts[i].echoLength = int64_t(countCharacters(prompts[i].echo));
  }
}

/// Where the tokens of a prompt begin in its echo.
std::vector<int64_t> CompletionWriter::echoOffsets(size_t index,
                                                   const std::vector<PromptLogprob> &scored) const {
  const Tokenizer *tokenizer = model.loop->tokenizer();
  if (!tokenizer)
    return std::vector<int64_t>(scored.size());
  std::vector<int32_t> tokens;
  for (const PromptLogprob &entry : scored)
    tokens.push_back(entry.token);
  PromptShape shape;
  if (!request.prompts[index].tokens.empty())
    shape.skipSpecial = request.each.skipSpecial;
  else if (request.each.addSpecial)
    std::tie(shape.before, shape.behind) = tokenizer->affixes();
  return promptOffsets(*tokenizer, tokens, prompts[index].echo, shape);
}

/// They come once for all answers, before the first token of any.
void CompletionWriter::keepPromptLogprobs(size_t index, const Event &event) {
  Prompt &prompt = prompts[index];
  if (request.promptLogprobs >= 0)
    prompt.logprobs =
        promptLogprobsJson(event.promptLogprobs, request.promptLogprobs, model.tokenNames);
  if (!request.echo || request.each.sampling.logprobs < 0)
    return;
  std::vector<int64_t> offsets = echoOffsets(index, event.promptLogprobs);
  for (Answer &answer : prompt.answers)
    answer.logprobs.addPrompt(event.promptLogprobs, offsets, request.each.sampling.logprobs,
                              model.tokenNames, request.tokensAsIds);
}

std::string CompletionWriter::take(size_t index, const Event &event) {
  Prompt &prompt = prompts[index];
  Answer &answer = prompt.answers[size_t(event.choice)];
  if (!event.promptLogprobs.empty())
    keepPromptLogprobs(index, event);
  std::string text;
  if (request.echo && !std::exchange(answer.echoed, true))
    text = prompt.echo;
  if (event.token >= 0) {
    ++answer.tokens;
    answer.logprobSum += event.logprob;
    if (request.each.sampling.logprobs >= 0)
      answer.logprobs.add(event, prompt.echoLength + event.textOffset, model.tokenNames,
                          request.tokensAsIds);
  }
  text += event.text;
  answer.length += int64_t(countCharacters(text));
  answer.finish = event.finish;
  if (event.finish == FinishReason::Failed)
    answer.failure = failureJson(event);
  if (request.stream)
    return chunk(index, answer, text, event);
  answer.text += text;
  return {};
}

Json CompletionWriter::choice(int64_t index, Answer &answer, std::string_view text,
                              Json logprobs) const {
  Json choice = choiceJson(index, text, std::move(logprobs), answer.finish);
  if (!answer.failure.is_null())
    choice["error"] = answer.failure;
  return choice;
}

std::string CompletionWriter::chunk(size_t index, Answer &answer, std::string_view text,
                                    const Event &event) {
  if (text.empty() && answer.logprobs.empty() && event.finish == FinishReason::None)
    return {};
  bool ends = event.finish != FinishReason::None;
  Json logprobs =
      answer.logprobs.empty() ? Json() : answer.logprobs.take(ends ? answer.length : INT64_MAX);
  Json chunk = head.json();
  Json one = choice(int64_t(index) * request.n + event.choice, answer, text, std::move(logprobs));
  if (request.promptLogprobs >= 0)
    one["prompt_logprobs"] = std::exchange(answer.scored, true) ? Json() : prompts[index].logprobs;
  chunk["choices"] = Json::array({std::move(one)});
  if (request.includeUsage)
    chunk["usage"] = nullptr;
  return eventText(chunk);
}

std::string CompletionWriter::finish(const Usage &usage) {
  if (!request.stream)
    return whole(usage);
  std::string text;
  if (request.includeUsage) {
    Json chunk = head.json();
    chunk["choices"] = Json::array();
    chunk["usage"] = usageJson(usage);
    text = eventText(chunk);
  }
  return text + lastEvent;
}

std::string CompletionWriter::fail(const ApiError &error) {
  return "data: " + errorJson(error) + "\n\n";
}

std::string CompletionWriter::whole(const Usage &usage) {
  Json body = head.json();
  Json &choices = body["choices"] = Json::array();
  for (Prompt &prompt : prompts) {
    std::vector<size_t> order(prompt.answers.size());
    std::iota(order.begin(), order.end(), 0);
    if (request.bestOf > request.n)
      std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
        return prompt.answers[one].meanLogprob() > prompt.answers[other].meanLogprob();
      });
    for (int32_t i = 0; i < request.n; ++i) {
      Answer &answer = prompt.answers[order[size_t(i)]];
      Json logprobs =
          request.each.sampling.logprobs >= 0 ? answer.logprobs.take(answer.length) : Json();
      choices.push_back(choice(int64_t(choices.size()), answer, answer.text, std::move(logprobs)));
      if (request.promptLogprobs >= 0)
        choices.back()["prompt_logprobs"] = prompt.logprobs;
    }
  }
  body["usage"] = usageJson(usage);
  return textOf(body);
}

} // namespace ingot::runtime
