// SPDX-License-Identifier: Apache-2.0
// Events come on the loop's thread, news of the client on an I/O thread.
#include "runtime/server/AnswerStream.h"

#include "runtime/server/CompletionText.h"

#include <utility>

namespace ingot::runtime {

/// Bytes that may wait for a client before its requests are put on hold.
constexpr size_t highWater = 64 << 10;

OrError<std::vector<Request>> prepareAll(const Loop &loop, std::vector<Request> requests,
                                         std::chrono::steady_clock::time_point start,
                                         int64_t seconds) {
  int64_t answers = 0, most = loop.statistics().answerLimit;
  for (const Request &request : requests)
    answers += request.choices;
  if (answers > most)
    return ApiError{400, "INGOT-E7203",
                    "prompts and n ask for " + std::to_string(answers) +
                        " answers, and this server computes and queues at most " +
                        std::to_string(most) + "; ask for fewer",
                    "n"};
  for (Request &request : requests) {
    if (seconds > 0)
      request.deadline = start + std::chrono::seconds(seconds);
    Result<Request> prepared = loop.prepare(std::move(request));
    if (!prepared.ok())
      return apiError(prepared.status());
    request = std::move(*prepared);
  }
  return requests;
}

void AnswerStream::start(std::vector<Request> prepared) {
  std::optional<ApiError> error = submitAll(std::move(prepared));
  if (!error) {
    // Only now, for it may say at once that the client is gone.
    exchange->listen(shared_from_this());
    return;
  }
  exchange->refuse(*error);
}

/// Events wait for the mutex, so that none comes before the response has begun.
std::optional<ApiError> AnswerStream::submitAll(std::vector<Request> prepared) {
  std::lock_guard lock(mutex);
  requests.resize(prepared.size());
  for (size_t i = 0; i < prepared.size(); ++i) {
    all = open += prepared[i].choices;
    requests[i].answers.resize(size_t(prepared[i].choices));
    usage.promptTokens += int64_t(prepared[i].tokens.size());
    Result<uint64_t> id =
        loop.submitPrepared(std::move(prepared[i]), [self = shared_from_this(), i](Event &&event) {
          return self->take(i, std::move(event));
        });
    if (!id.ok()) {
      over = true;
      requests.resize(i);
      cancelAll();
      return apiError(id.status());
    }
    requests[i].id = *id;
  }
  exchange->record.promptTokens = usage.promptTokens;
  if (streamed) {
    exchange->begin({.contentType = "text/event-stream",
                     .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
    if (std::string text = writer->begin(usage); !text.empty())
      exchange->send(text);
  }
  return std::nullopt;
}

void AnswerStream::cancelAll() {
  for (const Asked &request : requests)
    loop.cancel(request.id);
}

/// Nobody wants more: what is left is cancelled and given to nobody.
void AnswerStream::giveUp() {
  over = true;
  cancelAll();
}

void AnswerStream::closed() {
  std::lock_guard lock(mutex);
  if (!over)
    giveUp();
}

void AnswerStream::drained() {
  std::lock_guard lock(mutex);
  if (!std::exchange(behind, false) || over)
    return;
  for (const Asked &request : requests)
    loop.resume(request.id);
}

/// Times and tokens of an answer.
void AnswerStream::count(Asked &request, Answer &answer, const Event &event) {
  using Seconds = std::chrono::duration<double>;
  Clock::time_point now = Clock::now();
  double sinceStart = Seconds(now - exchange->record.start).count();
  // A request for its prompt alone ends where its first token would come.
  if (event.token >= 0 || event.finish == FinishReason::Length) {
    if (!std::exchange(answer.begun, true)) {
      // The others find the prompt that the first has computed.
      if (event.choice == 0)
        usage.cachedTokens += event.cachedTokens;
      metrics.firstToken(sinceStart, Seconds(event.queued).count(),
                         std::exchange(request.begun, true) ? 0 : event.promptTokens);
      if (!over && exchange->record.firstTokenSeconds < 0)
        exchange->record.firstTokenSeconds = sinceStart;
    } else {
      metrics.nextToken(Seconds(now - answer.lastToken).count());
    }
    answer.lastToken = now;
    usage.completionTokens += event.token >= 0;
    if (!over) // its record may be written already
      exchange->record.completionTokens = usage.completionTokens;
  }
  if (event.finish != FinishReason::None)
    metrics.ended(finishReason(event.finish), sinceStart);
}

/// Why an answer failed, for its client.
static ApiError errorOf(const Event &event) {
  if (event.finish == FinishReason::Deadline)
    return {504,
            "INGOT-E7215",
            "the request was not finished in the time that this server allows; ask for fewer "
            "tokens or try again later",
            {}};
  if (event.finish == FinishReason::Cancelled)
    return {503, "INGOT-E6031", "the request was ended with the process; ask another one", {}};
  return apiError(event.error);
}

/// Whether an answer failed by what was asked of it, where others go on.
bool AnswerStream::failsAlone(const Event &event) {
  return event.finish == FinishReason::Failed && errorOf(event).status == 400 && ++failed < all;
}

/// Ends the response; the other answers are given up.
void AnswerStream::fail(const ApiError &error) {
  giveUp();
  if (!streamed)
    return exchange->refuse(error);
  exchange->record.error = error.code;
  exchange->send(writer->fail(error));
  exchange->finish();
}

Demand AnswerStream::take(size_t index, Event &&event) {
  std::lock_guard lock(mutex);
  // After a request that was refused there are events of those before it, which have no answers.
  if (index >= requests.size())
    return Demand::Cancel;
  Asked &request = requests[index];
  Answer &answer = request.answers[size_t(event.choice)];
  if (answer.ended)
    return Demand::More;
  count(request, answer, event);
  answer.ended = event.finish != FinishReason::None;
  if (over)
    return Demand::More; // it is cancelled; its end is still to be counted
  bool isFailure = event.finish == FinishReason::Failed || event.finish == FinishReason::Deadline ||
                   event.finish == FinishReason::Cancelled;
  if (isFailure && !failsAlone(event)) {
    fail(errorOf(event));
    return Demand::More;
  }
  try {
    std::string text = writer->take(index, event);
    if (streamed && !text.empty() && exchange->send(text) > highWater)
      behind = true;
    if (answer.ended && --open == 0)
      endResponse();
  } catch (const std::exception &error) {
    // Nobody else would end the response.
    if (!over)
      fail(exceptionError(error));
  }
  return behind ? Demand::Hold : Demand::More;
}

void AnswerStream::endResponse() {
  over = true;
  std::string text = writer->finish(usage);
  if (!streamed)
    return exchange->respond({.body = std::move(text)});
  exchange->send(text);
  exchange->finish();
}

} // namespace ingot::runtime
