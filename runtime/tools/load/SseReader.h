// SPDX-License-Identifier: Apache-2.0
// Server-sent events from bytes that come in pieces.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Follows the event stream format of the HTML standard. Only data is kept: comments, names, ids
/// and retry times of events are passed over.
class SseReader {
public:
  /// Of one event or line, in bytes.
  static constexpr size_t longest = size_t(4) << 20;

  /// Appends the data of every event that `bytes` end to `events`. Pieces may be cut anywhere.
  /// INGOT-E7254: an event is too long, after which no more can be read.
  Status push(std::string_view bytes, std::vector<std::string> &events);

private:
  void endLine(std::vector<std::string> &events);

  std::string line, data;
  bool hasData = false;
  bool afterReturn = false; ///< a line feed now belongs to the line that has ended
  bool started = false;     ///< no byte order mark can come any more
};

} // namespace ingot::runtime
