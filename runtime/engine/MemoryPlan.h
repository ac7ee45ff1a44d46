// SPDX-License-Identifier: Apache-2.0
// The memory contract applied: which limits and how many KV blocks fit, in exact bytes.
#pragma once

#include "runtime/engine/Expression.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// What the user asks for; 0 means the engine's maximum.
struct MemoryRequest {
  uint64_t memory = 0;      ///< bytes for everything; 0: as much as the limits can use
  double fraction = 0;      ///< of free memory, where `memory` is 0; 0: what the device says
  int64_t kvBlocks = 0;     ///< of the first KV group, others as many for their part
  int64_t maxSequences = 0; ///< sequences in one step
  int64_t maxContext = 0;   ///< positions of one sequence
  int64_t maxTokens = 0;    ///< tokens of one step
  int64_t maxLogitRows = 0; ///< logit rows of one step
};

struct KvGroupPlan {
  std::string name;
  int64_t blockTokens = 0;
  uint64_t blockBytes = 0;
  int64_t tableWidth = 0;        ///< entries of a sequence's row in the block table
  int64_t blocksPerSequence = 0; ///< blocks of a sequence of the full context
  int64_t blocks = 0;            ///< blocks allocated
  int64_t window = 0;            ///< > 0: positions that a token sees, itself included
  bool recurrent = false;        ///< a block is the state behind its last token
};

/// Everything the loader allocates; computed without allocating anything.
struct MemoryPlan {
  int64_t maxSequences = 0;
  int64_t maxContext = 0;
  int64_t maxTokens = 0;
  int64_t maxLogitRows = 0;
  int64_t threads = 0;
  uint32_t tier = 0;
  uint64_t weightBytes = 0; ///< used in place, in the file's mapping
  uint64_t madeBytes = 0;   ///< of `weightBytes`: allocated, since the loader makes them
  uint64_t arenaBytes = 0;
  uint64_t stateBytes = 0;
  uint64_t scratchBytes = 0; ///< of all threads
  uint64_t kvBytes = 0;
  std::vector<KvGroupPlan> groups;

  uint64_t totalBytes() const {
    return weightBytes + arenaBytes + stateBytes + scratchBytes + kvBytes;
  }
};

/// Index of a dim by its name, or -1.
int64_t findDim(const schema::Engine &engine, std::string_view name);

/// Index of the dim that is the block-table width of a KV group ("B.<name>", or "B" for the first
/// and those whose blocks have as many tokens), or -1.
int64_t tableWidthDim(const schema::Engine &engine, const schema::Target &target, uint32_t group);

/// The smallest fitting arena tier and as many KV blocks as fit, up to a full context for every
/// sequence, or as many as are asked for. INGOT-E6001: a limit outside the engine's range.
/// INGOT-E6002: does not fit, with the minimum. `threads`: as many as the device has; cut to the
/// engine's range.
Result<MemoryPlan> planMemory(const schema::Engine &engine, const schema::Target &target,
                              int64_t threads, const MemoryRequest &request);

/// Bytes of the target's weights that the loader makes.
uint64_t madeWeightBytes(const schema::Engine &engine, const schema::Target &target);

/// Ranges of the dims within the plan: step dims up to its limits, the others fixed.
std::vector<Interval> plannedRanges(const schema::Engine &engine, const schema::Target &target,
                                    const MemoryPlan &plan);

} // namespace ingot::runtime
