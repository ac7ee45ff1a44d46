// SPDX-License-Identifier: Apache-2.0
// An exchange whose response goes out through a connection: handlers of any thread fill it, the
// connection's thread empties it.
#pragma once

#include "runtime/server/Exchange.h"
#include "runtime/server/ResponseText.h"

#include <functional>
#include <mutex>

namespace ingot::runtime {

class ConnectionExchange final : public Exchange {
public:
  /// `wake` is called, on any thread, when there is something to write and nobody was told yet.
  ConnectionExchange(HttpRequest request, ResponseFrame frame, bool atLeast11,
                     std::function<void()> wake);

  void respond(HttpResponse response) override;
  void begin(HttpResponse head) override;
  size_t send(std::string_view part) override;
  void finish() override;
  void listen(std::shared_ptr<ExchangeListener> listener) override;

  // What follows is for the connection, on its thread.

  enum class Next { Write, Drained, Ended };
  /// What to do after the last write, or after `wake`. Write: `out` is what to write.
  Next next(std::string &out);
  /// Tells the listener that everything has left.
  void tellDrained();
  /// The client is gone: nothing more is taken, and the listener is told.
  void close();
  /// Sends a comment when a stream has been silent since `before`.
  void comment(std::chrono::steady_clock::time_point before);
  bool streams();
  /// Whether the response is complete, if not written.
  bool isComplete();
  bool keepsAlive() const { return frame.keepAlive; }

private:
  size_t append(std::string_view text, bool last);
  std::shared_ptr<ExchangeListener> currentListener();

  ResponseFrame frame;
  const bool headOnly, atLeast11;
  const std::function<void()> wake;

  std::mutex mutex; ///< of what follows
  std::string waiting;
  size_t leaving = 0; ///< bytes of the write under way
  std::shared_ptr<ExchangeListener> listener;
  std::chrono::steady_clock::time_point lastPart;
  bool awake = false;  ///< the connection will call `next`
  bool begun = false;  ///< a response in parts
  bool ended = false;  ///< the response is complete
  bool closed = false; ///< the client is gone
};

} // namespace ingot::runtime
