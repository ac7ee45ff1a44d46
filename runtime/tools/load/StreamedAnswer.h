// SPDX-License-Identifier: Apache-2.0
// The answer to one request of a load, as its bytes come.
#pragma once

#include "runtime/tools/load/LoadProgress.h"
#include "runtime/tools/load/SseReader.h"
#include "runtime/tools/load/Workload.h"

namespace ingot::runtime {

/// Fills a record from a streamed completion. What it refers to must outlive it.
class StreamedAnswer {
public:
  StreamedAnswer(const LoadClock &clock, const LoadRequest &request, LoadRecord &record,
                 LoadProgress &progress)
      : clock(clock), request(request), record(record), progress(progress) {}

  /// Once the request has been sent. False: the client goes away without an answer.
  bool wantsAnswer() { return !cancelsNow(); }
  /// Takes bytes of the body, cut anywhere. False: the client wants no more, since it cancels or
  /// what came is wrong.
  bool take(std::string_view bytes);
  /// Once no more comes; `failure`: of the connection, if it failed.
  void finish(LoadFailure failure);

private:
  bool takeChunk(const std::string &data);
  bool cancelsNow();
  bool fail(Status error);

  const LoadClock &clock;
  const LoadRequest &request;
  LoadRecord &record;
  LoadProgress &progress;
  SseReader events;
  std::vector<std::string> ready;
  int64_t arrivals = 0;
  bool isDone = false, hasChunks = false;
  std::optional<int64_t> stated; ///< output tokens, by the server's usage
};

} // namespace ingot::runtime
