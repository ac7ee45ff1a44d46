// SPDX-License-Identifier: Apache-2.0
// Threads for what is made beside a step.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot::runtime {

/// Runs tasks in the order in which they come, on threads that start with the first one. Its end
/// waits for tasks under way and drops the others. Any thread may post.
class Workers {
public:
  explicit Workers(size_t threads) : count(threads) {}
  Workers(const Workers &) = delete;
  ~Workers();

  /// `task` must not throw, and must hold what it works on.
  void post(std::function<void()> task);

private:
  void work();

  size_t count;
  std::mutex guard;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool ends = false;
  std::vector<std::thread> threads;
};

} // namespace ingot::runtime
