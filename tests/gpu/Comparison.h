// SPDX-License-Identifier: Apache-2.0
// What a launch left in its buffers beside what is recorded of them.
#pragma once

#include "tests/gpu/LaunchRecord.h"

#include <optional>

namespace ingot::record {

/// Where a launch first differs from its record.
struct Difference {
  size_t buffer;    ///< argument
  uint64_t element; ///< of the compared values; of the bytes where there are none
  double recorded, found;
  double tolerance;
  bool outside; ///< the tolerance
};

/// What became of one launch.
struct Outcome {
  bool bitEqual = false;
  /// Largest difference in units of its tolerance; infinite where none is allowed.
  double worst = 0;
  std::optional<Difference> first; ///< the first outside the tolerance, else the first
  /// Why the launch failed beside its values: the device's words, a write beside a buffer.
  std::string error;
  /// Nothing more can be run on this device.
  bool deviceFailed = false;
  double seconds = 0; ///< of one launch; 0: not timed

  bool failed() const { return !error.empty() || (first && first->outside); }
  /// "bit-equal", "within" or "failed".
  const char *verdict() const;
};

/// Adds to `outcome` how `found`, which is as long as buffer `index` of the launch, differs from
/// its record.
void compareBuffer(const RecordT &record, const LaunchT &launch, size_t index,
                   std::span<const uint8_t> found, Outcome &outcome);

} // namespace ingot::record
