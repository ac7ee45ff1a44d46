// SPDX-License-Identifier: Apache-2.0
// A line on the terminal about a load that is under way.
#pragma once

#include "runtime/tools/load/LoadRecord.h"

namespace ingot::runtime {

/// Writes to standard error, and only where that is a terminal. One thread.
class LoadProgress {
public:
  LoadProgress();
  ~LoadProgress(); ///< takes the line away

  void sent() { ++made; }
  void ended(const LoadRecord &record);
  /// Tokens came; writes the line anew twice a second.
  void tick(int64_t tokens);

private:
  void write(double now);

  LoadClock clock;
  bool isShown;
  double next = 0;
  int64_t made = 0, over = 0, failed = 0, tokens = 0;
};

} // namespace ingot::runtime
