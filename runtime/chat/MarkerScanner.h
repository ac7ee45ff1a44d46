// SPDX-License-Identifier: Apache-2.0
// MarkerScanner: finds markers in text that arrives byte by byte, and holds back what may become
// one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ingot::runtime {

/// Of two markers that begin alike, the longer one is found where it is there. Which markers are
/// looked for may change between two steps.
class MarkerScanner {
public:
  enum class Result {
    Wait,    ///< more bytes are needed
    Release, ///< `byte` is not part of a marker
    Found    ///< `marker` is the index of the marker
  };

  void hold(char byte) { held += byte; }
  /// Goes one step on; to be called until it waits, which it does not where the text ends.
  Result step(std::span<const std::string_view> markers, bool isEnd = false);
  /// Ends the search: what is held is no marker, and is no longer held.
  std::string take() { return std::exchange(held, {}); }
  bool empty() const { return held.empty(); }
  std::string_view text() const { return held; }

  char byte = 0;
  size_t marker = 0;

private:
  std::string held; ///< never longer than the longest marker
};

} // namespace ingot::runtime
