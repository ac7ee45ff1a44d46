// SPDX-License-Identifier: Apache-2.0
// What every kernel template includes first. A template defines
//   __device__ void run(const Launch &launch);
// and reads its constants as `constants::<name>`; the compiler appends the entry, which bears the
// kernel's name and takes one pointer a buffer, the launch's scalars and the tensor maps.
#pragma once

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;

// Generated: `namespace constants` with every constant of the kernel (integers as i64, reals as
// double), and besides `threads` (of a block), `buffers`, `scalars` and
// `tensor_maps`; `shared_bytes` where the launch has dynamic shared memory, `cluster_blocks` where
// it has clusters.
#include "Constants.cuh"

#define INGOT_DEVICE static __device__ __forceinline__

/// How tensor copies (TMA) read a buffer, as the driver encodes it; opaque.
struct alignas(64) TensorMap {
  u8 bytes[128];
};

/// The entry's arguments. Buffers are the operation's operands in order (absent ones skipped), its
/// results, and last the workspace where the operation's kernels have one.
struct Launch {
  void *buffers[constants::buffers];
  i64 scalars[constants::scalars ? constants::scalars : 1]; ///< of llm::launchScalars()
  /// In the order in which the provider stated them.
  const TensorMap *maps[constants::tensor_maps ? constants::tensor_maps : 1];

  template <class Type> __device__ Type *buffer(int index) const {
    return static_cast<Type *>(buffers[index]);
  }
  /// Blocks in a row of the block table, of operations that read one.
  __device__ i64 tableColumns() const { return scalars[0]; }
};

/// Bytes of counters at the start of a workspace: u32, zero when a launch begins and to be left
/// zero by it. The rest of a workspace is undefined at the start.
constexpr i64 kCounterBytes = 16384;

INGOT_DEVICE constexpr i64 least(i64 a, i64 b) { return a < b ? a : b; }
INGOT_DEVICE constexpr i64 most(i64 a, i64 b) { return a > b ? a : b; }
INGOT_DEVICE constexpr i64 ceilDiv(i64 a, i64 b) { return (a + b - 1) / b; }
INGOT_DEVICE constexpr i64 roundUp(i64 a, i64 b) { return ceilDiv(a, b) * b; }
