// SPDX-License-Identifier: Apache-2.0
// The buffers of a launch as one piece of memory, with margins that show a write beside a buffer.
#pragma once

#include "tests/gpu/Comparison.h"

namespace ingot::record {

constexpr uint64_t kBufferAlignment = 256;

/// Where the buffers of a launch stand, then its workspace unless that lies elsewhere.
struct Layout {
  std::vector<uint64_t> offsets, sizes;
  uint64_t bytes; ///< of all, margins included; a multiple of kBufferAlignment

  Layout(const RecordT &record, const LaunchT &launch, bool withWorkspace);
  bool hasWorkspace(const LaunchT &launch) const { return offsets.size() > launch.buffers.size(); }

private:
  void add(uint64_t size);
};

/// Fills `image`, as long as the layout, with what the launch finds: inputs, counters of zero;
/// results and margins have content of their own.
void fillImage(const RecordT &record, const LaunchT &launch, const Layout &layout,
               std::span<uint8_t> image);

/// What the launch left in its image beside what is recorded.
Outcome compareImage(const RecordT &record, const LaunchT &launch, const Layout &layout,
                     std::span<const uint8_t> image);

} // namespace ingot::record
