// SPDX-License-Identifier: Apache-2.0
// llm.embed: a block is one token and a run of its columns, from a table in any layout. Buffers:
// tokens, table, scales?, zeros?, supers?, result.
#include "EncodedWeight.cuh"
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = constants::row_major ? vectorWidth(kColumns) : 1;
constexpr bool kHasZeros = constants::zeros != kNoZeros;
constexpr bool kHasSupers = constants::scale_form != kPlainScales;
constexpr int kScales = 2;
constexpr int kZeros = kScales + int(constants::encoded);
constexpr int kSupers = kZeros + kHasZeros;
constexpr int kResult = kSupers + kHasSupers;

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  EncodedWeight table = {launch.buffers[1], constants::encoded ? launch.buffers[kScales] : nullptr,
                         kHasZeros ? launch.buffers[kZeros] : nullptr,
                         kHasSupers ? launch.buffers[kSupers] : nullptr};
  i32 id = launch.buffer<const i32>(0)[row];
  u32 token = id < 0 ? 0 : u32(id);
  float x[kWidth];
  if constexpr (constants::row_major && elementBits(constants::weight_type) >= 8) {
    loadElements<constants::weight_type>(table.values, i64(token) * kColumns + column, x);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = table.element(token, u32(column) + i);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    x[i] = table.value(x[i], token, u32(column) + i);
  storeElements<constants::result_type>(launch.buffers[kResult], row * kColumns + column, x);
}
