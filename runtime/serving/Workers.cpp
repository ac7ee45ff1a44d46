// SPDX-License-Identifier: Apache-2.0
// A queue and the threads that empty it.
#include "runtime/serving/Workers.h"

namespace ingot::runtime {

Workers::~Workers() {
  {
    std::lock_guard lock(guard);
    ends = true;
    tasks.clear();
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Workers::post(std::function<void()> task) {
  {
    std::lock_guard lock(guard);
    while (threads.size() < count)
      threads.emplace_back([this] { work(); });
    tasks.push_back(std::move(task));
  }
  changed.notify_one();
}

void Workers::work() {
  std::unique_lock lock(guard);
  for (;;) {
    changed.wait(lock, [&] { return ends || !tasks.empty(); });
    if (ends)
      return;
    const std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

} // namespace ingot::runtime
