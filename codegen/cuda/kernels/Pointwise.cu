// SPDX-License-Identifier: Apache-2.0
// llm.pointwise and llm.round: a block is one row and `threads` vectors of its columns. Buffers:
// the operands, result.
#include "RegionMath.cuh"
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = vectorWidth(kColumns, 4);
constexpr int kOperands = 6;

/// kWidth values of operand `Index` from (row, column) on.
template <int Index, i64 How, i64 Code>
INGOT_DEVICE void loadOperands(const Launch &launch, i64 row, i64 column, float (&x)[kWidth]) {
  if constexpr (How == kRowAndColumn || How == kColumn) {
    loadElements<Code>(launch.buffers[Index], How == kColumn ? column : row * kColumns + column, x);
  } else {
    float value = How == kRow ? loadElement<Code>(launch.buffers[How == kRow ? Index : 0], row) : 0;
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = value;
  }
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  float x[kOperands][kWidth], y[kWidth];
  loadOperands<0, constants::address_0, constants::type_0>(launch, row, column, x[0]);
  loadOperands<1, constants::address_1, constants::type_1>(launch, row, column, x[1]);
  loadOperands<2, constants::address_2, constants::type_2>(launch, row, column, x[2]);
  loadOperands<3, constants::address_3, constants::type_3>(launch, row, column, x[3]);
  loadOperands<4, constants::address_4, constants::type_4>(launch, row, column, x[4]);
  loadOperands<5, constants::address_5, constants::type_5>(launch, row, column, x[5]);
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    y[i] = epilogue(x[0][i], x[1][i], x[2][i], x[3][i], x[4][i], x[5][i]);
  storeElements<constants::result_type>(launch.buffers[constants::operands],
                                        row * kColumns + column, y);
}
