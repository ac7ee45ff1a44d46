// SPDX-License-Identifier: Apache-2.0
// Tiles of tokens: up to constants::tile_tokens of one sequence, which stand side by side.
#pragma once

#include "AttentionTile.cuh"
#include "BlockSums.cuh"

constexpr int kTileTokens = int(constants::tile_tokens);

/// Tokens [first, first + count) of one sequence.
struct TokenTile {
  i64 first;
  int count;
  i32 last;  ///< the largest position that any of the tokens attends to
  i32 begin; ///< of the first tile that any of the tokens attends to
};

/// Where the cache of token `token`'s sequence is.
INGOT_DEVICE KvSequence sequenceOf(const Launch &launch, i64 token, int head) {
  i64 sequence = launch.buffer<const i32>(2)[token];
  return {launch.buffers[4], launch.buffer<const i32>(3) + sequence * launch.tableColumns(), head};
}

/// Whether a tile of tokens begins at `token`: with a sequence, or at a multiple of the tile.
INGOT_DEVICE bool beginsTile(const i32 *sequences, i64 token) {
  return token % kTileTokens == 0 || sequences[token] != sequences[token - 1];
}

/// Shared memory of a block that looks for its tile.
struct TokenSearch {
  BlockScratch<u32> sums;
  i64 first;
  int count;
  i32 last, smallest; ///< positions
};

/// The first token of tile number `index`; the number of tokens if there is none.
INGOT_DEVICE i64 findTile(const i32 *sequences, i64 tokens, u32 index, TokenSearch &search) {
  constexpr int tokensPerThread = 8;
  if (threadIdx.x == 0)
    search.first = tokens;
  __syncthreads();
  for (i64 begin = 0; begin < tokens; begin += kThreads * tokensPerThread) {
    u32 begins = 0;
#pragma unroll
    for (int i = 0; i < tokensPerThread; ++i) {
      i64 token = begin + threadIdx.x * tokensPerThread + i;
      if (token < tokens && beginsTile(sequences, token))
        begins |= 1u << i;
    }
    u32 total;
    u32 before = blockSumBefore<kThreads>(u32(__popc(begins)), search.sums, total);
    if (index >= total) {
      index -= total;
      continue;
    }
    if (before <= index && index < before + __popc(begins)) {
      for (u32 skip = index - before; skip > 0; --skip)
        begins &= begins - 1;
      search.first = begin + threadIdx.x * tokensPerThread + __ffs(int(begins)) - 1;
    }
    break;
  }
  __syncthreads();
  return search.first;
}

/// Tile number `index`; no tokens if there is none. All threads call it.
INGOT_DEVICE TokenTile findTokenTile(const Launch &launch, u32 index, TokenSearch &search) {
  const i32 *positions = launch.buffer<const i32>(1), *sequences = launch.buffer<const i32>(2);
  i64 tokens = launch.scalars[1]; // rows of the query
  TokenTile found = {};
  found.first = findTile(sequences, tokens, index, search);
  if (found.first >= tokens)
    return found;
  if (threadIdx.x == 0) {
    search.count = int(least(kTileTokens, tokens - found.first));
    search.last = 0;
    search.smallest = 0x7fffffff;
  }
  __syncthreads();
  i64 own = found.first + threadIdx.x;
  bool isCandidate = threadIdx.x < u32(kTileTokens) && own < tokens;
  if (isCandidate && threadIdx.x > 0 && beginsTile(sequences, own))
    atomicMin(&search.count, int(threadIdx.x));
  __syncthreads();
  found.count = search.count;
  if (int(threadIdx.x) < found.count) {
    atomicMax(&search.last, lastSeen(launch, own, positions[own]));
    if constexpr (kWindow > 0)
      atomicMin(&search.smallest, positions[own]);
  }
  __syncthreads();
  found.last = search.last;
  found.begin = kWindow > 0 ? firstSeen(search.smallest) / kTile * kTile : 0;
  return found;
}
