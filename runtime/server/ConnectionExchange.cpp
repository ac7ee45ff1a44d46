// SPDX-License-Identifier: Apache-2.0
// The bytes between handlers and a connection.
#include "runtime/server/ConnectionExchange.h"

#include <utility>

namespace ingot::runtime {

using Clock = std::chrono::steady_clock;

ConnectionExchange::ConnectionExchange(HttpRequest asked, ResponseFrame frame, bool atLeast11,
                                       std::function<void()> wake)
    : Exchange(std::move(asked)), frame(std::move(frame)), headOnly(request.method == "HEAD"),
      atLeast11(atLeast11), wake(std::move(wake)) {}

size_t ConnectionExchange::append(std::string_view text, bool last) {
  bool sleeps = false;
  size_t size = 0;
  std::shared_ptr<ExchangeListener> dropped;
  {
    std::lock_guard lock(mutex);
    if (closed || ended)
      return 0;
    waiting += text;
    ended = last;
    if (last) // it owns this exchange
      dropped = std::move(listener);
    lastPart = Clock::now();
    size = waiting.size() + leaving;
    sleeps = !std::exchange(awake, true);
  }
  if (sleeps)
    wake();
  return size;
}

void ConnectionExchange::respond(HttpResponse response) {
  record.status = response.status;
  std::string text = responseHead(response, frame);
  if (!headOnly)
    text += response.body;
  append(text, true);
}

void ConnectionExchange::begin(HttpResponse head) {
  record.status = head.status;
  frame.end = atLeast11 ? BodyEnd::Chunks : BodyEnd::Closing;
  frame.keepAlive &= atLeast11;
  {
    std::lock_guard lock(mutex);
    begun = true;
  }
  append(responseHead(head, frame), false);
}

size_t ConnectionExchange::send(std::string_view part) {
  return append(bodyPart(part, frame.end), false);
}

void ConnectionExchange::finish() { append(bodyEnd(frame.end), true); }

void ConnectionExchange::listen(std::shared_ptr<ExchangeListener> toTell) {
  {
    std::lock_guard lock(mutex);
    if (ended)
      return;
    if (!closed) {
      listener = std::move(toTell);
      return;
    }
  }
  toTell->closed();
}

ConnectionExchange::Next ConnectionExchange::next(std::string &out) {
  std::lock_guard lock(mutex);
  out.clear();
  if (!waiting.empty()) {
    out.swap(waiting);
    leaving = out.size();
    return Next::Write;
  }
  leaving = 0;
  awake = false;
  return ended ? Next::Ended : Next::Drained;
}

std::shared_ptr<ExchangeListener> ConnectionExchange::currentListener() {
  std::lock_guard lock(mutex);
  return ended ? nullptr : listener;
}

void ConnectionExchange::tellDrained() {
  if (std::shared_ptr<ExchangeListener> current = currentListener())
    current->drained();
}

void ConnectionExchange::close() {
  std::shared_ptr<ExchangeListener> current;
  {
    std::lock_guard lock(mutex);
    closed = true;
    current = std::move(listener);
    waiting = {};
  }
  if (current)
    current->closed();
}

void ConnectionExchange::comment(Clock::time_point before) {
  {
    std::lock_guard lock(mutex);
    if (!begun || lastPart > before)
      return;
  }
  send(": still computing\n\n");
}

bool ConnectionExchange::isComplete() {
  std::lock_guard lock(mutex);
  return ended;
}

bool ConnectionExchange::streams() {
  std::lock_guard lock(mutex);
  return begun && !ended;
}

} // namespace ingot::runtime
