// SPDX-License-Identifier: Apache-2.0
// Overwrites one line.
#include "runtime/tools/load/LoadProgress.h"

#include "runtime/tools/Table.h"

#include <cstdio>
#include <unistd.h>

namespace ingot::runtime {

static constexpr const char *clearLine = "\r\033[K";

LoadProgress::LoadProgress() : isShown(isatty(STDERR_FILENO) == 1) {}

LoadProgress::~LoadProgress() {
  if (isShown)
    std::fputs(clearLine, stderr);
}

void LoadProgress::ended(const LoadRecord &record) {
  ++over;
  failed += !record.failure.kind.empty();
  tick(0);
}

void LoadProgress::tick(int64_t count) {
  tokens += count;
  if (!isShown)
    return;
  double now = clock.now();
  if (now < next)
    return;
  next = now + 0.5;
  write(now);
}

void LoadProgress::write(double now) {
  std::fprintf(stderr, "%s%s s: %s ended, %s in flight, %s failed, %s tokens/s", clearLine,
               fixedPoint(now, 0).c_str(), grouped(uint64_t(over)).c_str(),
               grouped(uint64_t(made - over)).c_str(), grouped(uint64_t(failed)).c_str(),
               fixedPoint(now > 0 ? double(tokens) / now : 0, 1).c_str());
  std::fflush(stderr);
}

} // namespace ingot::runtime
