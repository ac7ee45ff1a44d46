// SPDX-License-Identifier: Apache-2.0
// Limits from the request and the dims, the tier that holds them, then blocks from what is left.
#include "runtime/engine/MemoryPlan.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <set>

namespace ingot::runtime {

int64_t findDim(const schema::Engine &engine, std::string_view name) {
  for (uint32_t i = 0; i < count(engine.dims()); ++i)
    if (engine.dims()->Get(i)->name()->string_view() == name)
      return i;
  return -1;
}

namespace {

/// A limit of the plan: the request, or the maximum when the request is 0.
Result<int64_t> chooseLimit(const char *option, int64_t requested, int64_t minimum,
                            int64_t maximum) {
  if (requested == 0)
    return maximum;
  if (requested < std::max<int64_t>(minimum, 1) || requested > maximum)
    return Status::error("INGOT-E6001",
                         std::string("--") + option + " " + std::to_string(requested) +
                             " is outside what the engine was built for",
                         "choose from " + std::to_string(std::max<int64_t>(minimum, 1)) + " to " +
                             std::to_string(maximum));
  return requested;
}

Result<int64_t> chooseStepLimit(const schema::Engine &engine, const char *option, const char *dim,
                                int64_t requested, int64_t fallback) {
  int64_t index = findDim(engine, dim);
  if (index < 0)
    return chooseLimit(option, requested, 1, fallback);
  const schema::Dim &found = *engine.dims()->Get(uint32_t(index));
  return chooseLimit(option, requested, found.min(), found.max());
}

Status chooseLimits(const schema::Engine &engine, const MemoryRequest &request, MemoryPlan &plan) {
  struct {
    const char *option;
    const char *dim;
    int64_t requested;
    int64_t &chosen;
    const int64_t &fallback;
  } limits[] = {
      {"max-context", "", request.maxContext, plan.maxContext, plan.maxContext},
      {"max-batch-tokens", schema::dim::tokens, request.maxTokens, plan.maxTokens, plan.maxContext},
      {"max-sequences", schema::dim::sequences, request.maxSequences, plan.maxSequences,
       plan.maxTokens},
      {"max-logit-rows", schema::dim::logitRows, request.maxLogitRows, plan.maxLogitRows,
       plan.maxSequences},
  };
  plan.maxContext = engine.serving()->max_context();
  for (auto &limit : limits) {
    Result<int64_t> chosen =
        chooseStepLimit(engine, limit.option, limit.dim, limit.requested, limit.fallback);
    if (!chosen.ok())
      return std::move(chosen).status();
    limit.chosen = *chosen;
  }
  return {};
}

int64_t roundUpDivide(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

/// Positions that a token sees of a group, itself included; 0: all. Of recurrent state what stands
/// behind the token before it, which may be in the block before.
int64_t windowOf(const schema::KvGroup &group) {
  return group.kind() == schema::KvKind::Sliding     ? group.window()
         : group.kind() == schema::KvKind::Recurrent ? group.block_tokens() + 1
                                                     : 0;
}

/// Blocks a sequence of the full context holds at once. A sliding window needs those that a step
/// of the most tokens can see and write, reused in turn; recurrent state the last two of before the
/// step, and of those that it reaches.
int64_t blocksOfFullContext(const schema::KvGroup &group, const MemoryPlan &plan) {
  int64_t all = roundUpDivide(plan.maxContext, group.block_tokens());
  constexpr int64_t states = 4;
  if (group.kind() == schema::KvKind::Recurrent)
    return std::min(all, states);
  if (group.kind() != schema::KvKind::Sliding)
    return all;
  return std::min(all, roundUpDivide(group.window() + plan.maxTokens, group.block_tokens()) + 1);
}

Status planGroups(const schema::Engine &engine, const schema::Target &target, MemoryPlan &plan) {
  for (uint32_t i = 0; i < count(target.kv_groups()); ++i) {
    const schema::KvGroup &group = *target.kv_groups()->Get(i);
    KvGroupPlan planned;
    planned.name = group.name()->str();
    planned.blockTokens = group.block_tokens();
    planned.blockBytes = group.block_bytes();
    planned.window = windowOf(group);
    planned.recurrent = group.kind() == schema::KvKind::Recurrent;
    planned.blocksPerSequence = blocksOfFullContext(group, plan);
    planned.tableWidth = roundUpDivide(plan.maxContext, group.block_tokens());
    if (int64_t dim = tableWidthDim(engine, target, i); dim >= 0) {
      const schema::Dim &range = *engine.dims()->Get(uint32_t(dim));
      if (planned.tableWidth > range.max())
        return Status::error("INGOT-E5010",
                             "the engine states a context of " + std::to_string(plan.maxContext) +
                                 " but block tables of " + std::to_string(range.max()) + " entries",
                             "rebuild the engine or lower --max-context");
      planned.tableWidth = std::max(planned.tableWidth, int64_t(range.min()));
    }
    plan.groups.push_back(planned);
  }
  return {};
}

Status chooseTier(const schema::Engine &engine, const schema::Target &target, MemoryPlan &plan) {
  const auto *tiers = target.memory()->tiers();
  if (count(tiers) == 0)
    return {};
  std::vector<Interval> ranges = plannedRanges(engine, target, plan);
  for (uint32_t i = 0; i < tiers->size(); ++i) {
    bool holds = true;
    for (uint32_t j = 0; j < count(tiers->Get(i)->limits()); ++j) {
      const schema::Range &limit = *tiers->Get(i)->limits()->Get(j);
      holds &= ranges[limit.dim()].max <= limit.max();
    }
    if (holds) {
      plan.tier = i;
      plan.arenaBytes = tiers->Get(i)->bytes();
      return {};
    }
  }
  return Status::error("INGOT-E5010", "no arena tier holds the chosen limits",
                       "rebuild the engine");
}

std::string inBytes(uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + std::to_string((bytes + (1 << 20) - 1) >> 20) +
         " MiB)";
}

/// Gives each group the same share of its full size, and never less than one full sequence.
Status shareBlocks(uint64_t memory, int64_t kvBlocks, MemoryPlan &plan) {
  double fullBytes = 0;
  uint64_t fixed = plan.totalBytes(), minimum = fixed;
  for (const KvGroupPlan &group : plan.groups) {
    fullBytes +=
        double(group.blockBytes) * double(group.blocksPerSequence) * double(plan.maxSequences);
    uint64_t one = 0;
    if (__builtin_mul_overflow(group.blockBytes, uint64_t(group.blocksPerSequence), &one) ||
        __builtin_add_overflow(minimum, one, &minimum))
      return Status::error("INGOT-E6002", "the KV cache of one sequence is too large to address",
                           "lower --max-context");
  }
  if (memory && memory < minimum)
    return Status::error("INGOT-E6002",
                         "--memory of " + inBytes(memory) + " is too small for one sequence of " +
                             std::to_string(plan.maxContext) + " positions",
                         "give at least " + inBytes(minimum) +
                             ", or lower --max-context, --max-batch-tokens or --max-sequences");
  double share =
      !memory || fullBytes == 0 ? 1.0 : std::min(1.0, double(memory - fixed) / fullBytes);
  if (kvBlocks > 0 && !plan.groups.empty()) {
    const KvGroupPlan &first = plan.groups.front();
    int64_t full = first.blocksPerSequence * plan.maxSequences;
    int64_t most = std::max(first.blocksPerSequence, int64_t(double(full) * share));
    if (kvBlocks < first.blocksPerSequence || kvBlocks > most)
      return Status::error("INGOT-E6001",
                           "--kv-blocks " + std::to_string(kvBlocks) +
                               " is outside what one sequence needs and the memory holds",
                           "choose from " + std::to_string(first.blocksPerSequence) + " to " +
                               std::to_string(most));
    share = (double(kvBlocks) + 0.5) / double(full);
  }
  for (KvGroupPlan &group : plan.groups) {
    int64_t full = group.blocksPerSequence * plan.maxSequences;
    group.blocks = std::max(group.blocksPerSequence, int64_t(double(full) * share));
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(group.blockBytes, uint64_t(group.blocks), &bytes) ||
        __builtin_add_overflow(plan.kvBytes, bytes, &plan.kvBytes) || plan.kvBytes >> 60)
      return Status::error("INGOT-E6002", "the KV cache is too large to address",
                           "give --memory, or lower --max-sequences or --max-context");
  }
  // A minimum of one group can push another over the limit: take blocks back where there are more.
  for (KvGroupPlan &group : plan.groups) {
    if (!memory || plan.totalBytes() <= memory || group.blockBytes == 0)
      continue;
    uint64_t excess = plan.totalBytes() - memory;
    int64_t surplus = std::min(group.blocks - group.blocksPerSequence,
                               int64_t((excess + group.blockBytes - 1) / group.blockBytes));
    group.blocks -= surplus;
    plan.kvBytes -= uint64_t(surplus) * group.blockBytes;
  }
  return {};
}

} // namespace

int64_t tableWidthDim(const schema::Engine &engine, const schema::Target &target, uint32_t group) {
  const schema::KvGroup &own = *target.kv_groups()->Get(group),
                        &first = *target.kv_groups()->Get(0);
  int64_t named = findDim(engine, std::string(schema::dim::tableWidth) + "." + own.name()->str());
  return named < 0 && own.block_tokens() == first.block_tokens()
             ? findDim(engine, schema::dim::tableWidth)
             : named;
}

std::vector<Interval> plannedRanges(const schema::Engine &engine, const schema::Target &target,
                                    const MemoryPlan &plan) {
  std::vector<Interval> ranges = declaredRanges(engine);
  auto limit = [&](std::string_view name, int64_t maximum) {
    if (int64_t dim = findDim(engine, name); dim >= 0)
      ranges[size_t(dim)].max = maximum;
  };
  limit(schema::dim::tokens, plan.maxTokens);
  limit(schema::dim::sequences, plan.maxSequences);
  limit(schema::dim::logitRows, plan.maxLogitRows);
  limit(schema::dim::givenRows, plan.maxTokens);
  for (uint32_t i = 0; i < plan.groups.size(); ++i)
    if (int64_t dim = tableWidthDim(engine, target, i); dim >= 0)
      ranges[size_t(dim)] = {plan.groups[i].tableWidth, plan.groups[i].tableWidth};
  if (int64_t dim = findDim(engine, schema::dim::threads); dim >= 0)
    ranges[size_t(dim)] = {plan.threads, plan.threads};
  return ranges;
}

uint64_t madeWeightBytes(const schema::Engine &engine, const schema::Target &target) {
  std::set<int32_t> made;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count(target.buffers()); ++i) {
    const schema::Buffer &buffer = *target.buffers()->Get(i);
    if (buffer.role() != schema::Role::Weight)
      continue;
    const schema::Weight &weight = *engine.weights()->Get(uint32_t(buffer.weight()));
    if (weight.fill() && made.insert(buffer.weight()).second)
      bytes += weight.bytes();
  }
  return bytes;
}

Result<MemoryPlan> planMemory(const schema::Engine &engine, const schema::Target &target,
                              int64_t threads, const MemoryRequest &request) {
  MemoryPlan plan;
  if (Status status = chooseLimits(engine, request, plan); !status.ok())
    return status;
  plan.threads = std::max<int64_t>(threads, 1);
  if (int64_t dim = findDim(engine, schema::dim::threads); dim >= 0) {
    const schema::Dim &range = *engine.dims()->Get(uint32_t(dim));
    plan.threads = std::clamp(plan.threads, int64_t(range.min()), int64_t(range.max()));
  }
  if (Status status = planGroups(engine, target, plan); !status.ok())
    return status;
  if (Status status = chooseTier(engine, target, plan); !status.ok())
    return status;
  const schema::MemoryContract &contract = *target.memory();
  plan.weightBytes = contract.weight_bytes();
  plan.madeBytes = madeWeightBytes(engine, target);
  if (__builtin_mul_overflow(contract.state_bytes_per_sequence(), uint64_t(plan.maxSequences),
                             &plan.stateBytes) ||
      __builtin_mul_overflow(contract.scratch_bytes_per_thread(), uint64_t(plan.threads),
                             &plan.scratchBytes) ||
      plan.stateBytes >> 60 || plan.scratchBytes >> 60)
    return Status::error("INGOT-E6002", "state or scratch memory is too large to address",
                         "lower --max-sequences or --threads");
  if (Status status = shareBlocks(request.memory, request.kvBlocks, plan); !status.ok())
    return status;
  return plan;
}

} // namespace ingot::runtime
