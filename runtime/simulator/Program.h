// SPDX-License-Identifier: Apache-2.0
// A kernel ready to run: instructions as functions with resolved operands.
#pragma once

#include "runtime/simulator/Ptx.h"

#include <memory>

namespace ingot::simulator {

struct Warp;
struct Op;
using OpFunction = void (*)(Warp &, const Op &);

/// Where the 32 lanes of an operand lie: a byte offset into the registers of the warp or, with
/// bit 0 set, into the constants of the program. Values of up to 32 bits take 4 bytes a lane,
/// others 8. A predicate is one 32-bit word, a bit per lane.
using Slot = uint32_t;
constexpr Slot constantSlot = 1;
constexpr Slot noSlot = ~Slot(0);

/// One instruction. What the fields beyond `run` and `guard` hold is between decoder and function.
struct alignas(64) Op {
  OpFunction run = nullptr;
  Slot slot[6] = {noSlot, noSlot, noSlot, noSlot, noSlot, noSlot};
  int64_t immediate = 0;
  Slot guard = noSlot; // a predicate
  uint32_t list = 0;   // first of `count` slots in Program::lists
  uint16_t count = 0;
  uint16_t flags = 0;
  bool guardNegated = false;
  uint8_t small[3] = {0, 0, 0};
};
static_assert(sizeof(Op) == 64);

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NumWarps,
  SmId,
  NumSms,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSharedBytes,
  TotalSharedBytes,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  IsExplicitCluster,
  Clock,
  Clock64,
  GlobalTimer,
  GlobalTimerLow
};

struct SpecialUse {
  SpecialRegister which;
  Slot slot;
};

/// What an instruction other than wgmma does to registers of wgmma, besides its own work.
struct GroupAccess {
  OpFunction run = nullptr; // the instruction itself
  uint32_t first = 0;       // in Program::groupRegisters: those read, then those written
  uint16_t reads = 0, writes = 0;
  bool moves = false; // only copies values
};

/// A number for a slot: slots of other places have other numbers.
constexpr uint32_t registerNumber(Slot slot) { return slot / 64; }

struct Program {
  std::string name;
  std::string target;
  std::shared_ptr<const ModuleText> text;
  std::vector<Op> ops;
  std::vector<uint32_t> lines; // PTX line of each op
  std::vector<Slot> lists;
  std::vector<uint8_t> constants;
  std::vector<SpecialUse> specials;
  std::vector<Variable> parameters;
  std::vector<std::vector<uint32_t>> branchTables; // op numbers
  uint64_t registerBytes = 0;                      // of one warp
  std::vector<uint32_t> groupAccessOf; // of each op: 0, or behind its GroupAccess; with wgmma only
  std::vector<GroupAccess> groupAccesses;
  std::vector<uint32_t> groupRegisters;
  uint64_t parameterBytes = 0;
  uint64_t staticSharedBytes = 0; // dynamic shared memory begins here
  uint64_t localBytes = 0;        // of one thread
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t clusterSize[3] = {0, 0, 0};
  uint32_t declaredRegisters = 0; // .maxnreg, or an estimate
  bool waitsForGrid = false;      // contains griddepcontrol.wait
};

/// The content of a module in simulated memory.
struct ModuleImage {
  std::shared_ptr<const ModuleText> text;
  std::vector<uint64_t> addresses; // of each module variable of global and const memory
};

/// Decodes one kernel. Throws PtxError for anything that the simulator does not execute.
std::unique_ptr<Program> decodeKernel(const ModuleImage &image, const KernelText &kernel);

} // namespace ingot::simulator
