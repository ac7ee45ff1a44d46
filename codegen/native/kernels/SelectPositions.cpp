// SPDX-License-Identifier: Apache-2.0
// llm.select_positions: one token a tile. Buffers: query, weights, positions, token_sequences,
// block_table, cache, result.
#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/native/kernels/Mathematics.h"

INGOT_CONST(index_heads);
INGOT_CONST(query_type);
INGOT_CONST(weights_type);
INGOT_CONST(most); ///< positions of a list
INGOT_REAL(scale);

constexpr int64_t kParts = 16;

/// The sum of products of `count` columns, part by part, the parts as a tree.
static float dot(const float *a, const float *b, int64_t count) {
  float parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts)
    for (int64_t part = 0; part < kParts; ++part)
      parts[part] = multiplyAdd(a[i + part], b[i + part], parts[part]);
  for (; i < count; ++i)
    parts[i % kParts] = multiplyAdd(a[i], b[i], parts[i % kParts]);
  for (int64_t half = kParts / 2; half > 0; half /= 2)
    for (int64_t part = 0; part < half; ++part)
      parts[part] += parts[part + half];
  return parts[0];
}

/// A position and its score.
struct Scored {
  float score;
  int32_t position;

  /// Whether this one is left out before `other`.
  bool isBehind(const Scored &other) const {
    return score < other.score || (score == other.score && position > other.position);
  }
};

/// The `most` best of what it is given: a heap with the one on top that is left out next.
struct Best {
  Scored *heap;
  int64_t count;

  void add(Scored next) {
    if (count < ingot_const_most) {
      heap[count++] = next;
      if (count == ingot_const_most)
        for (int64_t i = count / 2 - 1; i >= 0; --i)
          sink(i);
    } else if (heap[0].isBehind(next)) {
      heap[0] = next;
      sink(0);
    }
  }

private:
  void sink(int64_t at) {
    Scored moved = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && heap[child + 1].isBehind(heap[child]))
        ++child;
      if (!heap[child].isBehind(moved))
        break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
  }
};

/// Sorts positions into ascending order: by a heap of the largest.
static void sortAscending(int32_t *list, int64_t count) {
  auto sink = [&](int64_t at, int64_t size) {
    int32_t moved = list[at];
    for (int64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && list[child + 1] > list[child])
        ++child;
      if (list[child] <= moved)
        break;
      list[at] = list[child];
      at = child;
    }
    list[at] = moved;
  };
  for (int64_t i = count / 2 - 1; i >= 0; --i)
    sink(i, count);
  for (int64_t size = count - 1; size > 0; --size) {
    int32_t largest = list[0];
    list[0] = list[size];
    list[size] = largest;
    sink(0, size);
  }
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  const int64_t token = launch->tile[0], columns = ingot_const_head_dim;
  const int64_t count = 1 + int64_t(static_cast<const int32_t *>(launch->buffers[2])[token]);
  int32_t *list = static_cast<int32_t *>(launch->buffers[6]) + token * ingot_const_most;
  if (count <= ingot_const_most) { // all, whatever their scores
    for (int64_t i = 0; i < ingot_const_most; ++i)
      list[i] = i < count ? int32_t(i) : -1;
    return;
  }
  // Scratch: the query, a key and the best positions.
  float *query = static_cast<float *>(launch->scratch),
        *key = query + ingot_const_index_heads * columns;
  Best best = {reinterpret_cast<Scored *>(key + columns), 0};
  for (int64_t i = 0; i < ingot_const_index_heads * columns; ++i)
    query[i] = loadElement(launch->buffers[0], token * ingot_const_index_heads * columns + i,
                           ingot_const_query_type);
  for (int64_t position = 0; position < count; ++position) {
    KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                              launch->buffers[4], token);
    const float keyScale = kvScaled() ? *place.keyScale(0) : 1.0f;
    for (int64_t i = 0; i < columns; ++i) {
      float stored = loadElement(place.keys(), place.element(0) + i, ingot_const_kv_type);
      key[i] = kvScaled() ? stored * keyScale : stored;
    }
    float score = 0;
    for (int64_t head = 0; head < ingot_const_index_heads; ++head) {
      float product = dot(query + head * columns, key, columns);
      float weight = loadElement(launch->buffers[1], token * ingot_const_index_heads + head,
                                 ingot_const_weights_type);
      score += weight * ((product > 0 ? product : 0.0f) * float(ingot_real_scale));
    }
    best.add({score == score ? score : -kInfinity, int32_t(position)});
  }
  for (int64_t i = 0; i < ingot_const_most; ++i)
    list[i] = best.heap[i].position;
  sortAscending(list, ingot_const_most);
}
