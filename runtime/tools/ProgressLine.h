// SPDX-License-Identifier: Apache-2.0
// How far long work is.
#pragma once

#include <chrono>
#include <string>

namespace ingot::runtime {

/// Writes to stderr: a line that is written anew twice a second on a terminal, and elsewhere one
/// every 20 seconds, so that work of less has none there. One thread.
class ProgressLine {
public:
  ProgressLine();
  /// `interval`: between two writes.
  explicit ProgressLine(std::chrono::milliseconds interval);
  ~ProgressLine(); ///< takes a terminal's line away

  /// Shows what `text()` gives, without an end of line, where it is time to.
  template <class Text> void update(const Text &text) {
    if (Clock::now() >= next)
      write(text());
  }

private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string &text);

  bool isTerminal, isShown = false;
  std::chrono::milliseconds interval;
  Clock::time_point next;
};

} // namespace ingot::runtime
