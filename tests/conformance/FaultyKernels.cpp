// SPDX-License-Identifier: Apache-2.0
// Kernels for EmulatedDeviceTest and GuardedDeviceTest: some do what kernels may, the others what
// must be seen.
#include "runtime/schema/KernelAbi.h"

#include <immintrin.h>

#define KERNEL extern "C" __attribute__((visibility("default"), target("avx512f,avx512bf16")))

/// Each thread writes a line of AVX-512 and, behind the barrier, reads the other's.
KERNEL void meets(const IngotLaunch *launch) {
  auto *lines = static_cast<float *>(launch->buffers[0]);
  _mm512_storeu_ps(lines + 16 * launch->thread, _mm512_set1_ps(float(launch->scalars[0])));
  launch->barrier(launch->barrierState);
  __m512 other = _mm512_loadu_ps(lines + 16 * (1 - launch->thread));
  launch->barrier(launch->barrierState);
  _mm512_storeu_ps(lines + 16 * launch->thread, _mm512_add_ps(other, other));
}

KERNEL void writesInside(const IngotLaunch *launch) {
  static_cast<char *>(launch->buffers[0])[launch->scalars[0] - 1] = 1;
}

KERNEL void writesBefore(const IngotLaunch *launch) {
  static_cast<char *>(launch->buffers[0])[-1] = 1;
}

/// Its scratch memory has as many bytes as its buffer.
KERNEL void writesBeyondScratch(const IngotLaunch *launch) {
  static_cast<char *>(launch->scratch)[launch->scalars[0]] = 1;
}

/// One byte more than the buffer has.
KERNEL void writesBeyond(const IngotLaunch *launch) {
  static_cast<char *>(launch->buffers[0])[launch->scalars[0]] = 1;
}

/// Memory of no buffer: beyond the arena, in its GiB.
KERNEL void readsElsewhere(const IngotLaunch *launch) {
  static_cast<void>(static_cast<volatile char *>(launch->buffers[0])[size_t(1) << 29]);
}

KERNEL void readsNull(const IngotLaunch *) {
  const char *volatile null = nullptr;
  static_cast<void>(*static_cast<const volatile char *>(null));
}

/// AVX512-BF16, of which no level that is emulated has anything.
KERNEL void lacksInstruction(const IngotLaunch *launch) {
  __m256bh narrow = _mm512_cvtneps_pbh(_mm512_loadu_ps(launch->buffers[0]));
  __builtin_memcpy(launch->buffers[0], &narrow, sizeof narrow);
}

/// One thread stays away from the barrier.
KERNEL void staysAway(const IngotLaunch *launch) {
  if (launch->thread == 0)
    launch->barrier(launch->barrierState);
}
