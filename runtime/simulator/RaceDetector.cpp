// SPDX-License-Identifier: Apache-2.0
// The race detector of shared memory.
#include "runtime/simulator/RaceDetector.h"

namespace ingot::simulator {

void RaceDetector::begin(uint32_t, uint32_t) {}
void RaceDetector::release(Warp &, uint64_t) {}
void RaceDetector::acquire(Warp &, uint64_t) {}
void RaceDetector::warpBarrier(Warp &, uint32_t) {}
void RaceDetector::access(Warp &, const uint64_t (&)[warpSize], uint32_t, AccessKind, bool) {}
void RaceDetector::beginCopy(Warp &, uint32_t, uint32_t, uint32_t, uint32_t) {}
void RaceDetector::endCopy(Warp &, uint32_t, uint32_t, uint32_t, uint32_t) {}
void RaceDetector::beginBulkWrite(Warp &, uint32_t, uint32_t, uint64_t) {}
void RaceDetector::beginBulkRead(Warp &, uint32_t, uint32_t) {}
void RaceDetector::endBulkReads(Warp &) {}
uint32_t RaceDetector::conflicts(const uint64_t (&)[warpSize], uint32_t, uint32_t) { return 0; }

} // namespace ingot::simulator
