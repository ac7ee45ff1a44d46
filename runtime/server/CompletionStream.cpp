// SPDX-License-Identifier: Apache-2.0
// Events come on the loop's thread, news of the client on an I/O thread.
#include "runtime/server/CompletionStream.h"

#include <algorithm>
#include <numeric>

namespace ingot::runtime {

/// Bytes that may wait for a client before its requests are put on hold.
constexpr size_t highWater = 64 << 10;

CompletionStream::CompletionStream(std::shared_ptr<Exchange> exchange, ServedModel &model,
                                   Metrics &metrics, CompletionRequest request)
    : exchange(std::move(exchange)), model(model), metrics(metrics), request(std::move(request)) {
  using namespace std::chrono;
  head.id = "cmpl-" + this->exchange->record.id;
  head.model = this->request.model.empty() ? model.names.front() : this->request.model;
  head.created = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

OrError<std::vector<Request>> CompletionStream::prepareAll(int64_t seconds) const {
  const Loop &loop = *model.loop;
  if (request.answers() > loop.statistics().answerLimit)
    return ApiError{400, "INGOT-E7203",
                    "prompts and n ask for " + std::to_string(request.answers()) +
                        " answers, and this server computes and queues at most " +
                        std::to_string(loop.statistics().answerLimit) + "; ask for fewer",
                    "n"};
  std::vector<Request> requests;
  for (const CompletionPrompt &prompt : request.prompts) {
    Request one = request.each;
    one.text = prompt.text;
    one.tokens = prompt.tokens;
    if (seconds > 0)
      one.deadline = exchange->record.start + std::chrono::seconds(seconds);
    // The mean log-probability decides between answers.
    if (request.bestOf > request.n)
      one.sampling.logprobs = std::max(one.sampling.logprobs, 0);
    Result<Request> prepared = loop.prepare(std::move(one));
    if (!prepared.ok())
      return apiError(prepared.status());
    requests.push_back(std::move(*prepared));
  }
  return requests;
}

void CompletionStream::start(int64_t seconds) {
  OrError<std::vector<Request>> prepared = prepareAll(seconds);
  std::optional<ApiError> error;
  if (ApiError *refused = std::get_if<ApiError>(&prepared))
    error = std::move(*refused);
  else
    error = submitAll(std::move(std::get<std::vector<Request>>(prepared)));
  if (!error) {
    // Only now, for it may say at once that the client is gone.
    exchange->listen(shared_from_this());
    return;
  }
  exchange->record.error = error->code;
  exchange->respond(errorResponse(*error));
}

/// Events wait for the mutex, so that none comes before the response has begun.
std::optional<ApiError> CompletionStream::submitAll(std::vector<Request> requests) {
  std::lock_guard lock(mutex);
  prompts.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Prompt &prompt = prompts[i];
    prompt.answers.resize(size_t(request.bestOf));
    usage.promptTokens += int64_t(requests[i].tokens.size());
    const CompletionPrompt &asked = request.prompts[i];
    if (request.echo && !asked.tokens.empty() && model.loop->tokenizer())
      prompt.echo = model.loop->tokenizer()->decode(asked.tokens);
    else if (request.echo)
      prompt.echo = asked.text;
    Result<uint64_t> id =
        model.loop->submit(std::move(requests[i]), [self = shared_from_this(), i](Event &&event) {
          return self->take(i, std::move(event));
        });
    if (!id.ok()) {
      over = true;
      prompts.resize(i);
      cancelAll();
      return apiError(id.status());
    }
    prompt.id = *id;
  }
  open = request.answers();
  exchange->record.promptTokens = usage.promptTokens;
  if (request.stream)
    exchange->begin({.contentType = "text/event-stream",
                     .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
  return std::nullopt;
}

void CompletionStream::cancelAll() {
  for (const Prompt &prompt : prompts)
    model.loop->cancel(prompt.id);
}

/// Nobody wants more: what is left is cancelled and given to nobody.
void CompletionStream::giveUp() {
  over = true;
  cancelAll();
}

void CompletionStream::closed() {
  std::lock_guard lock(mutex);
  if (!over)
    giveUp();
}

void CompletionStream::drained() {
  std::lock_guard lock(mutex);
  if (!std::exchange(behind, false) || over)
    return;
  for (const Prompt &prompt : prompts)
    model.loop->resume(prompt.id);
}

/// Times and tokens of an answer.
void CompletionStream::count(Prompt &prompt, Answer &answer, const Event &event) {
  using Seconds = std::chrono::duration<double>;
  Clock::time_point now = Clock::now();
  double sinceStart = Seconds(now - exchange->record.start).count();
  if (event.token >= 0) {
    if (answer.tokens++ == 0) {
      // The others find the prompt that the first has computed.
      if (event.choice == 0)
        usage.cachedTokens += event.cachedTokens;
      metrics.firstToken(sinceStart, Seconds(event.queued).count(),
                         std::exchange(prompt.begun, true) ? 0 : event.promptTokens);
      if (!over && exchange->record.firstTokenSeconds < 0)
        exchange->record.firstTokenSeconds = sinceStart;
    } else {
      metrics.nextToken(Seconds(now - answer.lastToken).count());
    }
    answer.lastToken = now;
    answer.logprobSum += event.logprob;
    ++usage.completionTokens;
    if (!over) // its record may be written already
      exchange->record.completionTokens = usage.completionTokens;
  }
  if (event.finish != FinishReason::None)
    metrics.ended(finishReason(event.finish), sinceStart);
}

/// They come once for all answers, before the first token of any.
void CompletionStream::keepPromptLogprobs(Prompt &prompt, const Event &event) {
  if (request.promptLogprobs >= 0)
    prompt.logprobs =
        promptLogprobsJson(event.promptLogprobs, request.promptLogprobs, model.tokenNames);
  if (request.echo && request.each.sampling.logprobs >= 0)
    for (Answer &answer : prompt.answers)
      answer.logprobs.addPrompt(event.promptLogprobs, request.each.sampling.logprobs,
                                model.tokenNames, request.tokensAsIds);
}

/// The first failure of an answer ends the response; the other answers are given up.
void CompletionStream::fail(const Event &event) {
  ApiError error;
  if (event.finish == FinishReason::Deadline)
    error = {504,
             "INGOT-E7215",
             "the request was not finished in the time that this server allows; ask for fewer "
             "tokens or try again later",
             {}};
  else if (event.finish == FinishReason::Cancelled)
    error = {503, "INGOT-E6031", "the request was ended with the process; ask another one", {}};
  else
    error = apiError(event.error);
  exchange->record.error = error.code;
  giveUp();
  if (!request.stream) {
    exchange->respond(errorResponse(error));
    return;
  }
  exchange->send("data: " + errorJson(error) + "\n\n");
  exchange->finish();
}

Demand CompletionStream::take(size_t index, Event &&event) {
  std::lock_guard lock(mutex);
  // After a request that was refused there are events of those before it, which have no answers.
  if (index >= prompts.size())
    return Demand::Cancel;
  Prompt &prompt = prompts[index];
  Answer &answer = prompt.answers[size_t(event.choice)];
  if (answer.finish != FinishReason::None)
    return Demand::More;
  count(prompt, answer, event);
  answer.finish = event.finish;
  if (over)
    return Demand::More; // it is cancelled; its end is still to be counted
  bool failed = event.finish == FinishReason::Failed || event.finish == FinishReason::Deadline ||
                event.finish == FinishReason::Cancelled;
  if (failed) {
    fail(event);
    return Demand::More;
  }
  int64_t echoed = 0; // characters of this event's text
  if (!event.promptLogprobs.empty())
    keepPromptLogprobs(prompt, event);
  if (request.echo && !std::exchange(answer.echoed, true)) {
    event.text.insert(0, prompt.echo);
    echoed = characters(prompt.echo);
  }
  if (request.each.sampling.logprobs >= 0 && event.token >= 0)
    answer.logprobs.add(event, answer.offset + echoed, model.tokenNames, request.tokensAsIds);
  answer.offset += characters(event.text);
  Demand demand = Demand::More;
  if (request.stream)
    demand = sendChunk(index, answer, event);
  else
    answer.text += event.text;
  if (event.finish != FinishReason::None && --open == 0)
    endResponse();
  return demand;
}

size_t CompletionStream::sendJson(const Json &json) {
  return exchange->send("data: " + textOf(json) + "\n\n");
}

Demand CompletionStream::sendChunk(size_t prompt, Answer &answer, const Event &event) {
  bool ends = event.finish != FinishReason::None;
  if (event.text.empty() && answer.logprobs.empty() && !ends)
    return behind ? Demand::Hold : Demand::More;
  Json logprobs = answer.logprobs.empty() ? Json() : answer.logprobs.take();
  Json chunk = head.json();
  Json choice = choiceJson(int64_t(prompt) * request.n + event.choice, event.text,
                           std::move(logprobs), event.finish);
  if (request.promptLogprobs >= 0)
    choice["prompt_logprobs"] =
        std::exchange(answer.scored, true) ? Json() : prompts[prompt].logprobs;
  chunk["choices"] = Json::array({std::move(choice)});
  if (request.includeUsage)
    chunk["usage"] = nullptr;
  if (sendJson(chunk) > highWater)
    behind = true;
  return behind ? Demand::Hold : Demand::More;
}

void CompletionStream::endResponse() {
  over = true;
  if (!request.stream)
    return respondWhole();
  if (request.includeUsage) {
    Json chunk = head.json();
    chunk["choices"] = Json::array();
    chunk["usage"] = usage.json();
    sendJson(chunk);
  }
  exchange->send("data: [DONE]\n\n");
  exchange->finish();
}

void CompletionStream::respondWhole() {
  Json body = head.json();
  Json &choices = body["choices"] = Json::array();
  for (Prompt &prompt : prompts) {
    std::vector<size_t> order(prompt.answers.size());
    std::iota(order.begin(), order.end(), 0);
    auto mean = [&](size_t answer) {
      return prompt.answers[answer].logprobSum /
             double(std::max<int64_t>(prompt.answers[answer].tokens, 1));
    };
    if (request.bestOf > request.n)
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t one, size_t other) { return mean(one) > mean(other); });
    for (int32_t i = 0; i < request.n; ++i) {
      Answer &answer = prompt.answers[order[size_t(i)]];
      Json logprobs = request.each.sampling.logprobs >= 0 ? answer.logprobs.take() : Json();
      choices.push_back(
          choiceJson(int64_t(choices.size()), answer.text, std::move(logprobs), answer.finish));
      if (request.promptLogprobs >= 0)
        choices.back()["prompt_logprobs"] = prompt.logprobs;
    }
  }
  body["usage"] = usage.json();
  exchange->respond({.body = textOf(body)});
}

} // namespace ingot::runtime
