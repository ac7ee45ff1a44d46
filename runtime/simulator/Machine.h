// SPDX-License-Identifier: Apache-2.0
// The state of a launch while it runs: grid, blocks, warps, their memory and barriers.
#pragma once

#include "runtime/simulator/Findings.h"
#include "runtime/simulator/Memory.h"
#include "runtime/simulator/Program.h"

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace ingot::simulator {

struct Block;
struct Launch;
class RaceDetector;
class GlobalTracker;

constexpr uint32_t warpSize = 32;
constexpr uint32_t fullMask = ~0u;
/// Shared memory begins here, so that small integers are not valid shared addresses; a multiple of
/// the largest swizzle atom.
constexpr uint32_t sharedBase = 1024;
/// Generic addresses of the windows; global addresses are those of the host.
constexpr uint64_t sharedWindow = uint64_t(0x51) << 56;
constexpr uint64_t localWindow = uint64_t(0x52) << 56;
constexpr uint64_t parameterWindow = uint64_t(0x53) << 56;
constexpr uint64_t windowMask = uint64_t(0xff) << 56;
/// Bits above this one of a shared::cluster address hold the rank of the block plus one.
constexpr uint32_t clusterRankShift = 24;
constexpr uint32_t namedBarriers = 16;

/// Modes of a launch, fixed while it runs.
struct Modes {
  bool lateCompletion = true;
  bool fullChecks = false;
  bool exactTensorCores = false;
  uint64_t warpOrderSeed = 0;
  uint32_t workerThreads = 1;
  uint64_t maxInstructionsPerWarp = uint64_t(1) << 34;
};

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// What a launch is and its state shared by all blocks.
struct Launch {
  const Program *program = nullptr;
  Dimensions grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
  Modes modes;
  const MemoryMap *memory = nullptr;
  FindingLog *log = nullptr;
  GlobalTracker *tracker = nullptr; // full checks only
  uint32_t architecture = 80;       // 10 * major + minor
  uint32_t multiprocessors = 1;
  bool programmaticEdge = false;
  std::atomic<bool> failed{false};
  std::atomic<uint32_t> failure{0}; // DriverResult of the first failure
  std::atomic<bool> waitExecuted{false};
  std::atomic<uint64_t> instructions{0}, tensorInstructions{0}, sharedAccesses{0}, conflicts{0};
};

enum class WarpState : uint8_t { Ready, AtBarrier, Exited };

/// Lanes that stand elsewhere than the running ones.
struct LaneGroup {
  uint32_t pc;
  uint32_t mask;
  bool blocked; // at an instruction that needs other lanes
};

/// One cp.async of a warp between its issue and its completion.
struct CopyBatch {
  uint32_t mask = 0;  // lanes that have not waited for it
  uint32_t group = 0; // number of the lanes' group that it belongs to
  uint32_t bytes = 0; // written; what is not copied of them becomes zero
  uint8_t *target[32];
  const uint8_t *source[32];
  uint8_t copied[32];
};

/// A copy of the asynchronous proxy between its issue and its completion.
struct BulkCopy {
  std::function<void()> perform;  // moves the bytes
  std::function<void()> complete; // tells the barrier
};

/// A copy from shared to global memory that a thread waits for by its group.
struct BulkStore {
  uint32_t lane = 0, group = 0;
  bool done = false;
  std::function<void()> perform;
};

/// A wgmma between its issue and the wait for its group.
struct GroupProduct {
  const Op *op;
  uint64_t left, right; // descriptors
  bool accumulates;
  bool performed;
  uint32_t group; // from 1
};

/// A warp's side of wgmma: products that it has not waited for, and their registers by
/// registerNumber(). Empty in programs without wgmma.
struct GroupState {
  std::deque<GroupProduct> products;  // oldest first
  uint32_t committed = 0;             // groups
  uint32_t clock = 0, fenced = 0;     // counts writes; when the last wgmma.fence was, or 0
  std::vector<uint32_t> written;      // when other instructions last wrote the register, or 0
  std::vector<uint16_t> sums, inputs; // products that write and that read it

  void begin(const Program &program);
};

struct Warp {
  Block *block = nullptr;
  Launch *launch = nullptr;
  uint8_t *bases[2] = {nullptr, nullptr}; // registers, constants
  const Op *code = nullptr;
  uint32_t pc = 0;
  uint32_t active = 0;    // lanes of the running group
  uint32_t mask = 0;      // lanes that execute the current instruction: active under the guard
  uint32_t alive = 0;     // lanes that have not exited
  uint32_t mergePc = ~0u; // smallest pc of another group that can run
  int64_t budget = 0;     // instructions left in this turn; 0 or less ends the turn
  int64_t turnBudget = 0;
  uint64_t executed = 0; // before this turn
  uint32_t index = 0;    // within the block
  WarpState state = WarpState::Ready;
  uint32_t barrier = 0; // that it waits at
  uint32_t clusterPhase = 0;
  bool clusterArrived = false;     // and has not waited
  uint32_t barrierResult = noSlot; // predicate or register that the barrier's reduction sets
  bool fullChecks = false;
  bool gridWaited = false;
  bool copiesFenced = false; // since then, over global memory
  bool polled = false;       // this turn ended at a barrier that is not complete
  size_t idleTurns = 0; // that ended so one after the other, since anything happened in the unit
  uint8_t *local = nullptr;
  std::vector<LaneGroup> groups;
  std::array<AddressRange, 4> rangeCache;
  std::deque<CopyBatch> copies; // cp.async that are not complete, oldest first
  uint32_t committed[32] = {};  // groups of cp.async that each lane has committed
  std::deque<BulkStore> bulkStores;
  uint32_t bulkCommitted[32] = {}; // the same for bulk copies to global memory
  uint64_t tensorInstructions = 0;
  GroupState group;

  /// Pointers to the lanes of an operand.
  template <class T> T *lanes(Slot slot) {
    return reinterpret_cast<T *>(bases[slot & 1] + (slot & ~Slot(1)));
  }
  uint32_t &predicate(Slot slot) { return *lanes<uint32_t>(slot); }

  /// Instructions executed so far.
  uint64_t clock() const { return executed + uint64_t(turnBudget - budget); }
  /// Runs until the turn ends.
  void run(int64_t turn);
  /// Ends the turn after this instruction.
  void yield() { budget = 0; }
  /// Runs this instruction again on the next turn, and ends this one.
  void retry() {
    --pc;
    budget = 0;
  }
  /// Reports a failure that ends the launch.
  void fault(uint32_t lane, FindingKind kind, const std::string &what, uint64_t address = 0);
  /// Reports something that the launch survives.
  void report(uint32_t lane, FindingKind kind, const std::string &what, uint64_t address = 0);

  /// Takes the running group to `target` for the lanes of `taken`.
  void branch(uint32_t taken, uint32_t target);
  /// Meets other groups: called at instructions where lanes may come together.
  void join();
  /// Chooses another group to run because the running one is gone or blocked.
  void nextGroup();
  /// Gives another group a turn where one spins.
  void rotateGroups();
  /// Whether every lane of `wanted` that has not exited executes this instruction. If not, the
  /// running group waits for them and another one runs; the caller returns at once.
  bool converged(uint32_t wanted);
  void exitLanes(uint32_t leaving);
  std::string position(uint32_t lane) const;
};

/// A barrier of bar.sync and barrier.sync.
struct NamedBarrier {
  uint32_t expected = 0; // threads, 0 while nobody waits
  uint32_t arrived = 0;
  uint64_t waiting = 0; // warps
  uint32_t reduction = 0;
  uint32_t firstLine = 0;
};

/// An mbarrier as the simulator keeps it.
struct MessageBarrier {
  uint32_t phase = 0; // the number of completed phases
  int64_t expected = 0, pending = 0, transactions = 0;
};

struct Block {
  Launch *launch = nullptr;
  uint32_t id[3] = {0, 0, 0};
  uint64_t linear = 0;
  uint32_t clusterRank = 0;
  std::vector<Block *> *cluster = nullptr;
  uint8_t *shared = nullptr;
  uint32_t sharedBytes = 0;
  uint32_t threads = 0;
  std::vector<Warp> warps;
  uint32_t warpsAlive = 0;
  std::array<NamedBarrier, namedBarriers> barriers;
  std::map<uint32_t, MessageBarrier> messageBarriers; // by shared address
  std::vector<uint8_t> memory;                        // behind the pointers of the warps
  uint64_t progress = 0;       // changes whenever something happens that others may wait for
  uint32_t clusterArrived = 0; // warps
  uint32_t clusterPhase = 0;
  /// Phases of the cluster's barrier that must be complete before the block's memory may go: behind
  /// other blocks' last loads and stores, unless they have arrived at an mbarrier here since.
  uint32_t heldUntil = 0;
  RaceDetector *races = nullptr;
  std::deque<BulkCopy> bulkCopies; // issued, not complete

  /// Releases the warps that wait at a barrier whose count is complete.
  void completeBarrier(uint32_t number);
  /// Takes account of a warp that has exited.
  void warpExited();
  /// Completes one copy that the asynchronous proxy has been asked for, the oldest or, with a
  /// seed, any; whether there was one.
  bool completeOneCopy(uint32_t draw);
};

} // namespace ingot::simulator
