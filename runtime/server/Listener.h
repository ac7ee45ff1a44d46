// SPDX-License-Identifier: Apache-2.0
// Accepts connections and owns the threads that serve them.
#pragma once

#include "runtime/server/Router.h"

#include <memory>
#include <string>

namespace ingot::runtime {

class Listener {
public:
  /// Listens at the address of the options and serves from now on. `options`, `router` and
  /// `metrics` must outlive it. INGOT-E7216: the address cannot be had.
  static Result<std::unique_ptr<Listener>> open(const ServerOptions &options, Router &router,
                                                Metrics &metrics);
  /// Ends all connections and threads.
  ~Listener();

  /// Where clients find it, as in "http://127.0.0.1:8000".
  const std::string &address() const { return where; }
  /// Responses from now on end their connections.
  void drain();
  /// Responses that have not left yet.
  int64_t exchanges() const;

private:
  class Threads;
  Listener();

  std::unique_ptr<Threads> threads;
  std::string where;
};

} // namespace ingot::runtime
