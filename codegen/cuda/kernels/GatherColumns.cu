// SPDX-License-Identifier: Apache-2.0
// llm.gather_columns: a block is one row and a run of its columns. Buffers: input, columns, result.
#include "Elements.cuh"

namespace {

template <int kBytes> struct Bits {
  using Type = u16;
};
template <> struct Bits<4> {
  using Type = u32;
};

} // namespace

__device__ void run(const Launch &launch) {
  using Element = Bits<constants::element_bytes>::Type;
  i64 row = blockIdx.x;
  const Element *from = launch.buffer<const Element>(0) + row * constants::input_columns;
  const i32 *columns = launch.buffer<const i32>(1);
  Element *to = launch.buffer<Element>(2) + row * constants::columns;
  i64 step = i64(gridDim.y) * constants::threads;
  for (i64 k = i64(blockIdx.y) * constants::threads + threadIdx.x; k < constants::columns;
       k += step)
    to[k] = from[columns[k]];
}
