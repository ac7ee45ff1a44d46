// SPDX-License-Identifier: Apache-2.0
// How blocks that share work find out which of them is the last, which puts the work together.
#pragma once

#include "Ptx.cuh"

/// Whether this block is the last of `blocks` that call this with one counter, which is zero before
/// and afterwards. What the others wrote before is visible to it then. All threads call it, or the
/// first `Threads`.
template <int Threads = int(constants::threads)>
INGOT_DEVICE bool arrivesLast(u32 *counter, u32 blocks) {
  __shared__ bool isLast;
  ptx::syncFirst<Threads>();
  if (threadIdx.x == 0) {
    isLast = ptx::addCounter(counter, 1) == blocks - 1;
    if (isLast)
      *counter = 0;
  }
  ptx::syncFirst<Threads>();
  return isLast;
}
