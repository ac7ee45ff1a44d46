// SPDX-License-Identifier: Apache-2.0
// llm.gather_rows and llm.slice_columns: a block is one row and a run of its bytes. Buffers: input,
// rows (if gathering), result.
#include "Elements.cuh"

namespace {

constexpr i64 kResultBytes = constants::result_row_bytes;

/// Bytes that both rows allow to move at once.
INGOT_DEVICE constexpr int pieceBytes() {
  int bytes = 16;
  while ((constants::input_row_bytes | constants::first_byte | kResultBytes) % bytes != 0)
    bytes /= 2;
  return bytes;
}

} // namespace

__device__ void run(const Launch &launch) {
  constexpr int bytes = pieceBytes();
  i64 row = blockIdx.x, source = row;
  if constexpr (constants::gather)
    source = launch.buffer<const i32>(1)[row];
  const u8 *from =
      launch.buffer<const u8>(0) + source * constants::input_row_bytes + constants::first_byte;
  u8 *to = launch.buffer<u8>(constants::gather ? 2 : 1) + row * kResultBytes;
  i64 step = i64(gridDim.y) * constants::threads * bytes;
  for (i64 at = (i64(blockIdx.y) * constants::threads + threadIdx.x) * bytes; at < kResultBytes;
       at += step)
    copyBytes<bytes>(to + at, from + at);
}
