// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention in f32: one query head of one row a block. Buffers: query, keys, values,
// sequences, offsets, result.
#include "AttentionLanes.cuh"
#include "Elements.cuh"

namespace {

constexpr int kQueryHeads = int(constants::query_heads), kKvHeads = int(constants::kv_heads);
constexpr int kKeyDim = int(constants::key_dim), kValueDim = int(constants::value_dim);

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ float scores[kSegment];
  i64 row = blockIdx.x;
  int head = int(blockIdx.y), kvHead = head / (kQueryHeads / kKvHeads);
  const i32 *offsets = launch.buffer<const i32>(4) + launch.buffer<const i32>(3)[row];
  i32 end = offsets[1];
  i64 place = row * kQueryHeads + head;
  LaneHead<kKeyDim> query;
  query.fill([&](int element) {
    return loadElement<constants::query_type>(launch.buffers[0], place * kKeyDim + element);
  });
  Partial<kValueDim> total = {minusInfinity(), 0, {}};
  for (i32 begin = offsets[0]; begin < end; begin += kSegment) {
    auto kvPlace = [&](int i) { return i64(begin + i) * kKvHeads + kvHead; };
    auto score = [&](int i) {
      i64 first = kvPlace(i) * kKeyDim;
      return query.times([&](int element) {
        return loadElement<constants::keys_type>(launch.buffers[1], first + element);
      }) * float(constants::scale);
    };
    auto value = [&](int i, int element) {
      return loadElement<constants::values_type>(launch.buffers[2],
                                                 kvPlace(i) * kValueDim + element);
    };
    merge(total, attend<kValueDim>(int(least(kSegment, end - begin)), scores, score, value));
  }
  total.forElements([&](float value, int element) {
    storeElement<constants::result_type>(launch.buffers[5], place * kValueDim + element,
                                         value / total.sum);
  });
}
