// SPDX-License-Identifier: Apache-2.0
// What a load has done so far.
#include "runtime/tools/load/LoadProgress.h"

#include "runtime/tools/Table.h"

namespace ingot::runtime {

void LoadProgress::ended(const LoadRecord &record) {
  ++over;
  failed += !record.failure.kind.empty();
  tick(0);
}

void LoadProgress::tick(int64_t count) {
  tokens += count;
  line.update([this] {
    const double now = clock.now();
    return fixedPoint(now, 0) + " s: " + grouped(uint64_t(over)) + " ended, " +
           grouped(uint64_t(made - over)) + " in flight, " + grouped(uint64_t(failed)) +
           " failed, " + fixedPoint(now > 0 ? double(tokens) / now : 0, 1) + " tokens/s";
  });
}

} // namespace ingot::runtime
