// SPDX-License-Identifier: Apache-2.0
// Runs the launches of a record on a device and compares what they leave with what is recorded.
#pragma once

#include "runtime/devices/Device.h"
#include "tests/gpu/LaunchRecord.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  size_t launch = 0;
  bool bitEqual = false;
  /// Largest difference in units of its tolerance; infinite where none is allowed.
  double worst = 0;
  std::optional<Difference> first; ///< the first outside the tolerance, else the first
  /// Why the launch failed beside its values: the device's words, a write beside a buffer.
  std::string error;

  bool failed() const { return !error.empty() || (first && first->outside); }
};

using OpenDevice = std::function<runtime::Result<std::unique_ptr<runtime::Device>>()>;

/// Runs all launches in order. A device on which a launch failed is opened anew. INGOT-E7031 when
/// the device is of another architecture than the record; errors of opening and allocating.
runtime::Result<std::vector<Outcome>> replay(const RecordT &record, const OpenDevice &open);

} // namespace ingot::record
