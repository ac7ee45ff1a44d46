// SPDX-License-Identifier: Apache-2.0
// From requests of the loop to one response, whole or as server-sent events.
#pragma once

#include "runtime/server/AnswerWriter.h"
#include "runtime/server/Exchange.h"
#include "runtime/server/JsonBody.h"
#include "runtime/server/Metrics.h"
#include "runtime/serving/Loop.h"

#include <mutex>

namespace ingot::runtime {

/// Checks requests and turns their texts into tokens. Each is to end `seconds` after `start`; 0:
/// when it does.
OrError<std::vector<Request>> prepareAll(const Loop &loop, std::vector<Request> requests,
                                         std::chrono::steady_clock::time_point start,
                                         int64_t seconds);

/// One response under way. Lives as long as the loop or its exchange refers to it.
class AnswerStream final : public ExchangeListener,
                           public std::enable_shared_from_this<AnswerStream> {
public:
  /// `loop` and `metrics` must outlive the loop's requests. `streamed`: parts are sent as they
  /// come.
  AnswerStream(std::shared_ptr<Exchange> exchange, Loop &loop, Metrics &metrics,
               std::unique_ptr<AnswerWriter> writer, bool streamed)
      : exchange(std::move(exchange)), loop(loop), metrics(metrics), streamed(streamed),
        writer(std::move(writer)) {}

  /// Queues prepared requests, all or none; the exchange gets an error where that fails.
  void start(std::vector<Request> prepared);

  void closed() override;
  void drained() override;

private:
  using Clock = std::chrono::steady_clock;
  /// One answer of a request.
  struct Answer {
    bool begun = false, ended = false;
    Clock::time_point lastToken;
  };
  struct Asked {
    uint64_t id = 0;    ///< of the loop
    bool begun = false; ///< its first token has come
    std::vector<Answer> answers;
  };

  std::optional<ApiError> submitAll(std::vector<Request> prepared);
  Demand take(size_t request, Event &&event);
  void count(Asked &request, Answer &answer, const Event &event);
  bool failsAlone(const Event &event);
  void fail(const ApiError &error);
  void endResponse();
  void cancelAll();
  void giveUp();

  const std::shared_ptr<Exchange> exchange;
  Loop &loop;
  Metrics &metrics;
  const bool streamed;

  std::mutex mutex; ///< of what follows
  const std::unique_ptr<AnswerWriter> writer;
  std::vector<Asked> requests;
  Usage usage;
  int64_t open = 0;    ///< answers that go on
  int64_t all = 0;     ///< answers
  int64_t failed = 0;  ///< of them, alone
  bool over = false;   ///< the response has ended, or nobody reads it
  bool behind = false; ///< requests are on hold until the client has read
};

} // namespace ingot::runtime
