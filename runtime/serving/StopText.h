// SPDX-License-Identifier: Apache-2.0
// Finds stop strings in text that arrives in pieces, and holds back what may become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

class StopText {
public:
  /// `included`: a stop string that was found is part of the text.
  explicit StopText(std::vector<std::string> stops = {}, bool included = false)
      : stops(std::move(stops)), included(included) {}

  /// Takes the next piece and appends to `out` what can no longer be part of a stop string. True
  /// when one was found: `out` then ends before it, or with it, and the rest is dropped. One that
  /// ends in a piece that is not `searched` is text like any other.
  bool push(std::string_view piece, std::string &out, bool searched = true);

  /// The stop string that was found; empty: none.
  const std::string &found() const { return match; }

  /// Appends what is still held back.
  void finish(std::string &out);

private:
  std::vector<std::string> stops;
  bool included;
  std::string held, match;
  size_t passed = 0; ///< bytes at the start of `held` where no stop string may end
};

} // namespace ingot::runtime
