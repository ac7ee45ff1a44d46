// SPDX-License-Identifier: Apache-2.0
// llm.embed: a block is one token and a run of its columns, from a table in any layout. Buffers:
// tokens, table, scales?, zeros?, result.
#include "Encoding.cuh"
#include "Layout.cuh"
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = constants::row_major ? vectorWidth(kColumns) : 1;
constexpr int kScales = 2;
constexpr int kZeros = kScales + int(constants::encoded);
constexpr int kResult = kZeros + int(constants::zeros != kNoZeros);

INGOT_LAYOUT_TYPE(TableLayout, table);
INGOT_LAYOUT_TYPE(ScaleLayout, scale);
INGOT_LAYOUT_TYPE(ZeroLayout, zero);

/// The value that `stored` at (row, column) stands for.
INGOT_DEVICE float decode(const Launch &launch, u32 row, u32 column, float stored) {
  if constexpr (constants::encoded) {
    u32 scaleRow = constants::group < 0 ? 0 : row;
    u32 group = constants::group > 0 ? column / u32(most(constants::group, 1)) : 0;
    const void *zeros = launch.buffers[kZeros];
    i64 place = placeOf<ZeroLayout>(scaleRow, group);
    float scale = loadElement<constants::scale_type>(launch.buffers[kScales],
                                                     placeOf<ScaleLayout>(scaleRow, group));
    float number = unscaled<constants::zeros, constants::weight_type>(stored, zeros, place);
    return withOffset<constants::zeros, constants::scale_type>(__fmul_rn(scale, number), zeros,
                                                               place);
  }
  return stored;
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  u32 token = u32(launch.buffer<const i32>(0)[row]);
  float x[kWidth];
  if constexpr (constants::row_major && constants::weight_type != kI4) {
    loadElements<constants::weight_type>(launch.buffers[1], i64(token) * kColumns + column, x);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = loadElement<constants::weight_type>(launch.buffers[1],
                                                 placeOf<TableLayout>(token, u32(column) + i));
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    x[i] = decode(launch, token, u32(column) + i, x[i]);
  storeElements<constants::result_type>(launch.buffers[kResult], row * kColumns + column, x);
}
