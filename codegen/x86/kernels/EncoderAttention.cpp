// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention: a tile is one KV head and `tile_rows` rows of the batch. Those of one
// sequence share each segment of keys and values, decoded or laid out once. Buffers: query, keys,
// values, sequences, offsets, result.
#include "codegen/x86/kernels/EncoderFloats.h"
#include "codegen/x86/kernels/EncoderPairs.h"

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const int32_t *sequences = static_cast<const int32_t *>(launch->buffers[3]);
  const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[4]);
  int64_t first = launch->tile[0] * ingot_const_tile_rows;
  int64_t end = first + ingot_const_tile_rows;
  int64_t rows = launch->scalars[ingot_const_rows_dim] * ingot_const_rows_each;
  end = end < rows ? end : rows;
  while (first < end) {
    const int32_t *sequence = offsets + sequences[first];
    int64_t next = sequence[1] < end ? sequence[1] : end;
    EncoderRun run = {launch,
                      launch->tile[1],
                      first,
                      next - first,
                      sequence[0],
                      sequence[1],
                      static_cast<char *>(launch->scratch)};
    if (ingot_const_method == FloatAttention)
      attendFloats(run);
    else
      EncoderPairs(run).attend();
    first = next;
  }
}
