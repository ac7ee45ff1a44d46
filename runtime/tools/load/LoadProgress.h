// SPDX-License-Identifier: Apache-2.0
// A line about a load that is under way.
#pragma once

#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/load/LoadRecord.h"

namespace ingot::runtime {

/// Writes to standard error. One thread.
class LoadProgress {
public:
  void sent() { ++made; }
  void ended(const LoadRecord &record);
  /// Tokens came.
  void tick(int64_t tokens);

private:
  LoadClock clock;
  ProgressLine line;
  int64_t made = 0, over = 0, failed = 0, tokens = 0;
};

} // namespace ingot::runtime
