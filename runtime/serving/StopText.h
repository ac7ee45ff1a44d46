// SPDX-License-Identifier: Apache-2.0
// Finds stop strings in text that arrives in pieces, and holds back what may become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

class StopText {
public:
  explicit StopText(std::vector<std::string> stops = {}) : stops(std::move(stops)) {}

  /// Takes the next piece and appends to `out` what can no longer be part of a stop string. True
  /// when one was found: `out` then ends before it, and the rest is dropped.
  bool push(std::string_view piece, std::string &out);

  /// Appends what is still held back.
  void finish(std::string &out);

private:
  std::vector<std::string> stops;
  std::string held;
};

} // namespace ingot::runtime
