// SPDX-License-Identifier: Apache-2.0
// One clock over the instructions of all programs; per tier, a sweep over it with the places in
// use.
#include "runtime/engine/Lifetimes.h"

#include "runtime/engine/Expression.h"
#include "runtime/engine/Verify.h"

#include <algorithm>
#include <map>

namespace ingot::runtime {
namespace {

/// A buffer of the arena while it holds a value.
struct Lifetime {
  uint32_t buffer;
  int64_t first = INT64_MAX, last = -1; ///< instructions
  uint64_t begin = 0, end = 0;          ///< bytes of the arena, in the tier at hand
};

class LifetimeVerifier {
public:
  LifetimeVerifier(const schema::Engine &engine, const schema::Target &target)
      : engine(engine), target(target), indexOf(count(target.buffers()), -1) {}

  Status verify(const std::string &where);

private:
  void collect();
  void touch(int64_t buffer);
  void touch(const flatbuffers::Vector<flatbuffers::Offset<schema::Arg>> *args);
  void touch(const schema::Instruction &instruction);
  Status verifyTier(const schema::ArenaTier &tier, const std::string &where);

  const schema::Engine &engine;
  const schema::Target &target;
  std::vector<Lifetime> lifetimes; ///< in the order of the tiers' offsets
  std::vector<int64_t> indexOf;    ///< into `lifetimes`, of each buffer; -1: not in the arena
  int64_t clock = 0;
};

void LifetimeVerifier::touch(int64_t buffer) {
  if (buffer < 0 || indexOf[size_t(buffer)] < 0)
    return;
  Lifetime &lifetime = lifetimes[size_t(indexOf[size_t(buffer)])];
  lifetime.first = std::min(lifetime.first, clock);
  lifetime.last = std::max(lifetime.last, clock);
}

void LifetimeVerifier::touch(const flatbuffers::Vector<flatbuffers::Offset<schema::Arg>> *args) {
  for (uint32_t i = 0; i < count(args); ++i)
    if (args->Get(i)->kind() == schema::ArgKind::Buffer)
      touch(args->Get(i)->buffer());
}

void LifetimeVerifier::touch(const schema::Instruction &instruction) {
  if (const schema::Launch *launch = instruction.operation_as_Launch())
    touch(launch->args());
  if (const schema::HostCall *call = instruction.operation_as_HostCall())
    touch(call->args());
  if (const schema::Copy *copy = instruction.operation_as_Copy()) {
    touch(copy->source());
    touch(copy->destination());
  }
  if (const schema::Collective *exchange = instruction.operation_as_Collective())
    for (int64_t buffer : {int64_t(exchange->source()), int64_t(exchange->destination()),
                           int64_t(exchange->counts()), int64_t(exchange->receive_counts())})
      touch(buffer);
}

void LifetimeVerifier::collect() {
  for (uint32_t i = 0; i < count(target.buffers()); ++i)
    if (isInArena(target.buffers()->Get(i)->role())) {
      indexOf[i] = int64_t(lifetimes.size());
      lifetimes.push_back({i});
    }
  for (uint32_t i = 0; i < count(target.programs()); ++i) {
    const schema::Program &program = *target.programs()->Get(i);
    int64_t begun = clock;
    for (uint32_t j = 0; j < count(program.instructions()); ++j, ++clock)
      touch(*program.instructions()->Get(j));
    // A tap is read when the last instruction of its segment is done.
    int64_t ended = clock;
    for (uint32_t j = 0; j < count(program.segments()); ++j) {
      const schema::Segment &segment = *program.segments()->Get(j);
      clock = begun + int64_t(segment.first()) + int64_t(segment.count()) - 1;
      if (segment.count() > 0)
        touch(segment.tap());
    }
    clock = ended;
  }
  for (Lifetime &lifetime : lifetimes) {
    const schema::Buffer &buffer = *target.buffers()->Get(lifetime.buffer);
    if (buffer.role() == schema::Role::Arena && !buffer.zeroed())
      continue;
    lifetime.first = 0;
    lifetime.last = clock;
  }
}

Status LifetimeVerifier::verifyTier(const schema::ArenaTier &tier, const std::string &where) {
  std::vector<Interval> limited = declaredRanges(engine);
  for (uint32_t i = 0; i < count(tier.limits()); ++i) {
    Interval &dim = limited[tier.limits()->Get(i)->dim()];
    dim.max = std::min(dim.max, int64_t(tier.limits()->Get(i)->max()));
  }
  std::vector<const Lifetime *> byStart, byEnd;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    Lifetime &lifetime = lifetimes[i];
    Result<Interval> bytes =
        boundExpression(*target.buffers()->Get(lifetime.buffer)->bytes(), limited);
    if (!bytes.ok())
      return std::move(bytes).status().in(where);
    lifetime.begin = tier.offsets()->Get(uint32_t(i));
    lifetime.end = lifetime.begin + uint64_t(bytes->max);
    if (lifetime.first <= lifetime.last && lifetime.begin < lifetime.end) {
      byStart.push_back(&lifetime);
      byEnd.push_back(&lifetime);
    }
  }
  std::ranges::sort(byStart, {},
                    [](const Lifetime *one) { return std::pair(one->first, one->buffer); });
  std::ranges::sort(byEnd, {},
                    [](const Lifetime *one) { return std::pair(one->last, one->buffer); });
  std::map<uint64_t, const Lifetime *> live; // by their begin
  size_t ended = 0;
  for (const Lifetime *lifetime : byStart) {
    for (; byEnd[ended]->last < lifetime->first; ++ended)
      live.erase(byEnd[ended]->begin);
    auto behind = live.lower_bound(lifetime->begin);
    const Lifetime *other = nullptr;
    if (behind != live.end() && behind->first < lifetime->end)
      other = behind->second;
    else if (behind != live.begin() && std::prev(behind)->second->end > lifetime->begin)
      other = std::prev(behind)->second;
    if (other)
      return Status::error("INGOT-E5010",
                           where + ": buffers '" +
                               target.buffers()->Get(other->buffer)->name()->str() + "' and '" +
                               target.buffers()->Get(lifetime->buffer)->name()->str() +
                               "' hold values at the same time in the same place",
                           "rebuild the engine");
    live[lifetime->begin] = lifetime;
  }
  return {};
}

Status LifetimeVerifier::verify(const std::string &where) {
  collect();
  const auto *tiers = target.memory()->tiers();
  for (uint32_t i = 0; i < count(tiers); ++i)
    if (Status status = verifyTier(*tiers->Get(i), where + ", arena tier " + std::to_string(i));
        !status.ok())
      return status;
  return {};
}

} // namespace

Status verifyLifetimes(const schema::Engine &engine, const schema::Target &target,
                       const std::string &where) {
  return LifetimeVerifier(engine, target).verify(where);
}

} // namespace ingot::runtime
