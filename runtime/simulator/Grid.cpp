// SPDX-License-Identifier: Apache-2.0
// Blocks and their warps: creation, turns, deadlocks, and the threads that run them.
#include "runtime/simulator/Grid.h"
#include "runtime/simulator/RaceDetector.h"
#include "runtime/simulator/SpecialRegisters.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <random>
#include <thread>

namespace ingot::simulator {

bool Block::completeOneCopy(uint32_t draw) {
  if (bulkCopies.empty())
    return false;
  auto chosen = bulkCopies.begin() + long(draw % bulkCopies.size());
  BulkCopy copy = std::move(*chosen);
  bulkCopies.erase(chosen);
  copy.perform();
  copy.complete();
  ++progress;
  return true;
}

namespace {

/// Instructions of a warp's turn: long, as nothing is gained from interleaving without a seed.
constexpr int64_t plainTurn = 50000;
/// Instructions after which a unit lets others of its thread run.
constexpr uint64_t unitTurn = 20'000'000;

/// Warp instructions below which starting threads takes longer than running them here.
constexpr uint64_t smallLaunch = 100'000;

/// One cluster of blocks, which run together.
class Unit {
public:
  enum class Outcome { Done, Stalled };

  void begin(Launch &launch, uint64_t number);
  /// Runs until all blocks are done, or nothing but other units can help.
  Outcome run();

private:
  void beginBlock(Block &block, uint64_t linear);
  void beginWarps(Block &block, uint8_t *registers, uint8_t *local);
  bool runRound();
  int64_t turnOf(Warp &warp);
  void reportDeadlock();
  void forgetIdleTurns();
  uint64_t progress() const;

  Launch *launch = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Block *> members;
  std::vector<std::unique_ptr<RaceDetector>> detectors;
  std::mt19937 random;
  uint32_t idleRounds = 0;
};

void Unit::begin(Launch &next, uint64_t number) {
  launch = &next;
  idleRounds = 0;
  const Dimensions &cluster = next.cluster;
  uint64_t count = cluster.count();
  while (blocks.size() < count) {
    blocks.push_back(std::make_unique<Block>());
    detectors.push_back(std::make_unique<RaceDetector>());
  }
  members.clear();
  uint64_t clustersX = next.grid.x / cluster.x, clustersY = next.grid.y / cluster.y;
  uint64_t baseX = number % clustersX * cluster.x;
  uint64_t baseY = number / clustersX % clustersY * cluster.y;
  uint64_t baseZ = number / clustersX / clustersY * cluster.z;
  random.seed(uint32_t(next.modes.warpOrderSeed * 0x9e3779b97f4a7c15u + number));
  for (uint64_t rank = 0; rank < count; ++rank) {
    Block &block = *blocks[rank];
    block.launch = launch;
    block.clusterRank = uint32_t(rank);
    block.id[0] = uint32_t(baseX + rank % cluster.x);
    block.id[1] = uint32_t(baseY + rank / cluster.x % cluster.y);
    block.id[2] = uint32_t(baseZ + rank / cluster.x / cluster.y);
    members.push_back(&block);
  }
  for (uint64_t rank = 0; rank < count; ++rank) {
    Block &block = *blocks[rank];
    block.cluster = &members;
    block.races = next.modes.fullChecks ? detectors[rank].get() : nullptr;
    beginBlock(block,
               (uint64_t(block.id[2]) * next.grid.y + block.id[1]) * next.grid.x + block.id[0]);
  }
}

void Unit::beginBlock(Block &block, uint64_t linear) {
  const Program &program = *launch->program;
  block.linear = linear;
  block.threads = uint32_t(launch->block.count());
  uint32_t warps = (block.threads + warpSize - 1) / warpSize;
  block.sharedBytes = uint32_t(program.staticSharedBytes) + launch->dynamicSharedBytes;
  uint64_t shared = (block.sharedBytes + 1023) & ~uint64_t(1023);
  uint64_t registers = (program.registerBytes + 255) & ~uint64_t(255);
  uint64_t local = program.localBytes * warpSize;
  uint64_t bytes = 1024 + shared + warps * (registers + local);
  if (block.memory.size() < bytes)
    block.memory.resize(bytes);
  uint8_t *begin = block.memory.data();
  begin += 1024 - (reinterpret_cast<uint64_t>(begin) & 1023);
  block.shared = begin;
  std::memset(block.shared, 0xff, block.sharedBytes);
  block.barriers = {};
  block.messageBarriers.clear();
  block.bulkCopies.clear();
  block.clusterArrived = block.clusterPhase = block.heldUntil = 0;
  block.warpsAlive = warps;
  block.warps.resize(warps);
  if (block.races)
    block.races->begin(block.sharedBytes, warps);
  beginWarps(block, begin + shared, begin + shared + warps * registers);
}

void Unit::beginWarps(Block &block, uint8_t *registers, uint8_t *local) {
  const Program &program = *launch->program;
  uint64_t registerBytes = (program.registerBytes + 255) & ~uint64_t(255);
  for (uint32_t index = 0; index < block.warps.size(); ++index) {
    Warp &warp = block.warps[index];
    uint32_t threads = std::min(block.threads - index * warpSize, warpSize);
    warp.block = &block;
    warp.launch = launch;
    warp.bases[0] = registers + index * registerBytes;
    warp.bases[1] = const_cast<uint8_t *>(program.constants.data());
    warp.code = program.ops.data();
    warp.pc = 0;
    warp.alive = warp.active = threads == warpSize ? fullMask : (1u << threads) - 1;
    warp.mergePc = ~0u;
    warp.executed = 0;
    warp.index = index;
    warp.group.begin(program);
    warp.state = WarpState::Ready;
    warp.barrierResult = noSlot;
    warp.clusterPhase = 0;
    warp.clusterArrived = false;
    warp.fullChecks = launch->modes.fullChecks;
    warp.gridWaited = warp.copiesFenced = false;
    warp.polled = false;
    warp.idleTurns = 0;
    warp.local = local + index * program.localBytes * warpSize;
    warp.groups.clear();
    warp.rangeCache = {};
    warp.copies.clear();
    warp.bulkStores.clear();
    std::fill(warp.committed, warp.committed + warpSize, 0);
    std::fill(warp.bulkCommitted, warp.bulkCommitted + warpSize, 0);
    fillSpecialRegisters(warp);
  }
}

int64_t Unit::turnOf(Warp &) {
  if (launch->modes.warpOrderSeed == 0)
    return plainTurn;
  // Mostly short turns, sometimes a long one: both kinds of race show.
  uint32_t draw = random();
  return draw % 8 == 0 ? plainTurn : 1 + int64_t(draw >> 8) % 256;
}

uint64_t Unit::progress() const {
  uint64_t sum = 0;
  for (const Block *block : members)
    sum += block->progress;
  return sum;
}

/// Gives every warp that can run a turn; false when none could.
bool Unit::runRound() {
  std::vector<Warp *> order;
  for (Block *block : members)
    for (Warp &warp : block->warps)
      if (warp.state == WarpState::Ready)
        order.push_back(&warp);
  if (launch->modes.warpOrderSeed)
    std::shuffle(order.begin(), order.end(), random);
  bool ran = false;
  for (Warp *warp : order) {
    warp->run(turnOf(*warp));
    warp->idleTurns = warp->polled ? warp->idleTurns + 1 : 0;
    // Threads that have gone another way may go on where these cannot.
    ran |= warp->idleTurns <= warp->groups.size();
    if (launch->failed.load(std::memory_order_relaxed))
      return true;
  }
  return ran;
}

void Unit::forgetIdleTurns() {
  for (Block *block : members)
    for (Warp &warp : block->warps)
      warp.idleTurns = 0;
}

void Unit::reportDeadlock() {
  std::string what = "no warp of the block can go on:";
  for (Block *block : members)
    for (Warp &warp : block->warps) {
      if (warp.state == WarpState::Exited)
        continue;
      uint32_t line = launch->program->lines[warp.pc ? warp.pc - 1 : 0];
      what += " warp " + std::to_string(warp.index) + " at line " + std::to_string(line);
      if (warp.state == WarpState::AtBarrier) {
        const NamedBarrier &barrier = block->barriers[warp.barrier];
        what += " (barrier " + std::to_string(warp.barrier) + ", " +
                std::to_string(barrier.arrived) + " threads of " +
                (barrier.expected == ~0u ? "all" : std::to_string(barrier.expected)) + ")";
      }
      what += ";";
    }
  for (Block *block : members)
    for (Warp &warp : block->warps)
      if (warp.state != WarpState::Exited)
        return warp.fault(uint32_t(std::countr_zero(warp.alive)), FindingKind::Deadlock, what);
}

Unit::Outcome Unit::run() {
  uint64_t begun = launch->instructions.load(std::memory_order_relaxed);
  while (true) {
    uint64_t before = progress();
    bool ran = runRound();
    if (launch->failed.load(std::memory_order_relaxed))
      return Outcome::Done;
    uint32_t alive = 0;
    for (Block *block : members)
      alive += block->warpsAlive;
    if (alive == 0) {
      for (Block *block : members)
        while (block->completeOneCopy(0)) {
        }
      return Outcome::Done;
    }
    if (progress() == before) {
      // Nothing else can happen: now an asynchronous copy has to end.
      bool completed = false;
      for (Block *block : members)
        completed |= block->completeOneCopy(launch->modes.warpOrderSeed ? random() : 0);
      if (completed) {
        forgetIdleTurns();
        continue;
      }
      if (!ran) {
        reportDeadlock();
        return Outcome::Done;
      }
      // Warps run without effect: they may wait for another block.
      if (++idleRounds > 2)
        return Outcome::Stalled;
      continue;
    }
    idleRounds = 0;
    forgetIdleTurns();
    if (launch->instructions.load(std::memory_order_relaxed) - begun > unitTurn)
      return Outcome::Stalled;
  }
}

/// One thread of the host and the units it keeps running.
void work(Launch &launch, std::atomic<uint64_t> &next, uint64_t units, uint64_t resident) {
  std::list<std::unique_ptr<Unit>> running;
  std::vector<std::unique_ptr<Unit>> spare;
  auto start = [&] {
    uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= units)
      return false;
    std::unique_ptr<Unit> unit;
    if (spare.empty()) {
      unit = std::make_unique<Unit>();
    } else {
      unit = std::move(spare.back());
      spare.pop_back();
    }
    unit->begin(launch, number);
    running.push_back(std::move(unit));
    return true;
  };
  while (!launch.failed.load(std::memory_order_relaxed)) {
    if (running.empty() && !start())
      return;
    std::unique_ptr<Unit> unit = std::move(running.front());
    running.pop_front();
    if (unit->run() == Unit::Outcome::Done) {
      spare.push_back(std::move(unit));
      continue;
    }
    running.push_back(std::move(unit));
    if (running.size() < resident)
      start();
  }
}

} // namespace

void runLaunch(Launch &launch, uint64_t residentBlocks, uint64_t expectedInstructions) {
  uint64_t units = launch.grid.count() / launch.cluster.count();
  uint32_t threads = uint32_t(std::min<uint64_t>(launch.modes.workerThreads, units));
  threads = expectedInstructions < smallLaunch ? 1 : std::max(threads, 1u);
  uint64_t resident = std::max<uint64_t>(1, residentBlocks / launch.cluster.count() / threads);
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> workers;
  for (uint32_t i = 1; i < threads; ++i)
    workers.emplace_back([&] { work(launch, next, units, resident); });
  work(launch, next, units, resident);
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace ingot::simulator
