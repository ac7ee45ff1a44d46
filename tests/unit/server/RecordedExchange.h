// SPDX-License-Identifier: Apache-2.0
// An exchange without a connection: it keeps what handlers send, and plays the client.
#pragma once

#include "runtime/server/Exchange.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <nlohmann/json.hpp>

namespace ingot::test {

class RecordedExchange final : public runtime::Exchange {
public:
  explicit RecordedExchange(runtime::HttpRequest request) : Exchange(std::move(request)) {
    record.id = "test";
  }

  void respond(runtime::HttpResponse whole) override {
    std::lock_guard lock(mutex);
    EXPECT_FALSE(begun || ended) << "a second response";
    response = std::move(whole);
    ended = true;
    listener.reset();
    changed.notify_all();
  }
  void begin(runtime::HttpResponse head) override {
    std::lock_guard lock(mutex);
    EXPECT_FALSE(begun || ended) << "a second response";
    response = std::move(head);
    begun = true;
  }
  size_t send(std::string_view part) override {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(begun) << "a part before the head";
    if (ended)
      return 0;
    response.body += part;
    ++parts;
    changed.notify_all();
    return stuck;
  }
  void finish() override {
    std::lock_guard lock(mutex);
    ended = true;
    listener.reset();
    changed.notify_all();
  }
  void listen(std::shared_ptr<runtime::ExchangeListener> toTell) override {
    std::lock_guard lock(mutex);
    if (!ended)
      listener = std::move(toTell);
    changed.notify_all();
  }

  /// Waits for the end of the response.
  const runtime::HttpResponse &wait() {
    waitFor([&] { return ended; });
    return response;
  }
  void waitForParts(int count) {
    waitFor([&] { return parts >= count && listener; });
  }
  int countParts() {
    std::lock_guard lock(mutex);
    return parts;
  }
  nlohmann::ordered_json json() { return nlohmann::ordered_json::parse(wait().body); }
  /// The events of a stream, without the last one, which says that it is done.
  std::vector<nlohmann::ordered_json> events() {
    std::vector<nlohmann::ordered_json> events;
    std::string_view rest = wait().body;
    while (rest.starts_with("data: {")) {
      size_t end = rest.find("\n\n");
      events.push_back(nlohmann::ordered_json::parse(rest.substr(6, end - 6)));
      rest.remove_prefix(end + 2);
    }
    EXPECT_EQ(rest, "data: [DONE]\n\n");
    return events;
  }
  /// From now on the client takes nothing, or everything again.
  void stick(size_t bytes) {
    std::lock_guard lock(mutex);
    stuck = bytes;
  }
  /// The client has taken all there was.
  void drain() {
    if (auto current = currentListener(false))
      current->drained();
  }
  /// The client is gone.
  void leave() {
    if (auto current = currentListener(true))
      current->closed();
  }

private:
  std::shared_ptr<runtime::ExchangeListener> currentListener(bool drop) {
    std::lock_guard lock(mutex);
    return drop ? std::move(listener) : listener;
  }
  void waitFor(const std::function<bool()> &isSo) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), isSo)) << "nothing more comes";
  }

  std::mutex mutex;
  std::condition_variable changed;
  runtime::HttpResponse response;
  std::shared_ptr<runtime::ExchangeListener> listener;
  size_t stuck = 0;
  int parts = 0;
  bool begun = false, ended = false;
};

} // namespace ingot::test
