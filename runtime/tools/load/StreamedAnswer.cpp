// SPDX-License-Identifier: Apache-2.0
// What counts as an arrival, as an end and as a failure (docs/decisions/0089).
#include "runtime/tools/load/StreamedAnswer.h"

#include "runtime/tools/load/CompletionChunk.h"

namespace ingot::runtime {

bool StreamedAnswer::cancelsNow() {
  record.cancelled = request.cancelAfter && *request.cancelAfter <= arrivals;
  return record.cancelled;
}

/// Always false: no more is read.
bool StreamedAnswer::fail(Status error) {
  bool isTheServers = error.code() == "INGOT-E7255";
  record.failure = {isTheServers ? "error in the stream" : "malformed answer", std::move(error)};
  return false;
}

bool StreamedAnswer::take(std::string_view bytes) {
  // After [DONE] only the end of the body comes, for which the client stays: it did not hang up.
  if (isDone)
    return true;
  ready.clear();
  if (Status status = events.push(bytes, ready); !status.ok())
    return fail(std::move(status));
  for (const std::string &data : ready)
    if (!isDone && !takeChunk(data))
      return false;
  return true;
}

bool StreamedAnswer::takeChunk(const std::string &data) {
  Result<CompletionChunk> chunk = CompletionChunk::read(data);
  if (!chunk.ok())
    return fail(std::move(chunk).status());
  hasChunks = true;
  if (chunk->isLast) {
    isDone = true;
    record.end = clock.now();
    return true;
  }
  if (chunk->hasTokens) {
    ++arrivals;
    record.arrived(clock.now());
    record.text += chunk->text;
    progress.tick(1);
  }
  if (!chunk->finish.empty())
    record.finish = chunk->finish;
  if (chunk->promptTokens)
    record.promptTokens = *chunk->promptTokens;
  if (chunk->cachedTokens)
    record.cachedTokens = *chunk->cachedTokens;
  if (chunk->outputTokens)
    stated = chunk->outputTokens;
  return !cancelsNow();
}

void StreamedAnswer::finish(LoadFailure failure) {
  record.counted = !stated;
  record.outputTokens = stated.value_or(arrivals);
  if (isDone || record.cancelled || !record.failure.kind.empty())
    return;
  record.failure = std::move(failure);
  if (!record.failure.kind.empty())
    return;
  if (!hasChunks)
    fail(Status::error("INGOT-E7254", "the answer is no stream of events",
                       "check that the address is one of completions"));
  else if (record.finish.empty()) // some servers only close the connection after the last chunk
    record.failure = {"connection cut",
                      Status::error("INGOT-E7253",
                                    "the answer ended without a reason and without [DONE]",
                                    "see the server's log")};
}

} // namespace ingot::runtime
