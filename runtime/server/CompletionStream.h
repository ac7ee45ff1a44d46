// SPDX-License-Identifier: Apache-2.0
// From the events of a completion's requests to its response, whole or as server-sent events.
#pragma once

#include "runtime/server/CompletionRequest.h"
#include "runtime/server/CompletionText.h"
#include "runtime/server/Exchange.h"
#include "runtime/server/Metrics.h"
#include "runtime/server/ServedModel.h"

#include <mutex>

namespace ingot::runtime {

/// One completion under way. Lives as long as the loop or its exchange refers to it.
class CompletionStream final : public ExchangeListener,
                               public std::enable_shared_from_this<CompletionStream> {
public:
  /// `model` and `metrics` must outlive the loop's requests.
  CompletionStream(std::shared_ptr<Exchange> exchange, ServedModel &model, Metrics &metrics,
                   CompletionRequest request);

  /// Turns texts into tokens and queues the requests, all or none; the exchange gets an error where
  /// that fails. `seconds`: how long it may take in all; 0: for ever.
  void start(int64_t seconds);

  void closed() override;
  void drained() override;

private:
  using Clock = std::chrono::steady_clock;
  /// One answer to one prompt.
  struct Answer {
    std::string text; ///< of a response that is given whole
    LogprobLists logprobs;
    int64_t offset = 0; ///< characters so far, the echo too
    int64_t tokens = 0;
    double logprobSum = 0;
    FinishReason finish = FinishReason::None;
    Clock::time_point lastToken;
    bool echoed = false;
    bool scored = false; ///< a chunk has told the prompt's log-probabilities
  };
  struct Prompt {
    uint64_t id = 0; ///< of the loop
    std::string echo;
    Json logprobs;      ///< of the prompt's tokens; null where nobody asked
    bool begun = false; ///< its first token has come
    std::vector<Answer> answers;
  };

  OrError<std::vector<Request>> prepareAll(int64_t seconds) const;
  std::optional<ApiError> submitAll(std::vector<Request> requests);
  Demand take(size_t prompt, Event &&event);
  void keepPromptLogprobs(Prompt &prompt, const Event &event);
  void count(Prompt &prompt, Answer &answer, const Event &event);
  void fail(const Event &event);
  Demand sendChunk(size_t prompt, Answer &answer, const Event &event);
  size_t sendJson(const Json &json);
  void endResponse();
  void respondWhole();
  void cancelAll();
  void giveUp();

  const std::shared_ptr<Exchange> exchange;
  ServedModel &model;
  Metrics &metrics;
  const CompletionRequest request;
  CompletionHead head;

  std::mutex mutex; ///< of what follows
  std::vector<Prompt> prompts;
  Usage usage;
  int64_t open = 0;    ///< answers that go on
  bool over = false;   ///< the response has ended, or nobody reads it
  bool behind = false; ///< requests are on hold until the client has read
};

} // namespace ingot::runtime
