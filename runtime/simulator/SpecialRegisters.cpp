// SPDX-License-Identifier: Apache-2.0
// The special registers of PTX: their names, and their values for a warp.
#include "runtime/simulator/SpecialRegisters.h"
#include "runtime/simulator/Decoder.h"

namespace ingot::simulator {

namespace {

struct Named {
  const char *name;
  SpecialRegister which;
};

const Named names[] = {
    {"%tid.x", SpecialRegister::TidX},
    {"%tid.y", SpecialRegister::TidY},
    {"%tid.z", SpecialRegister::TidZ},
    {"%ntid.x", SpecialRegister::NtidX},
    {"%ntid.y", SpecialRegister::NtidY},
    {"%ntid.z", SpecialRegister::NtidZ},
    {"%ctaid.x", SpecialRegister::CtaidX},
    {"%ctaid.y", SpecialRegister::CtaidY},
    {"%ctaid.z", SpecialRegister::CtaidZ},
    {"%nctaid.x", SpecialRegister::NctaidX},
    {"%nctaid.y", SpecialRegister::NctaidY},
    {"%nctaid.z", SpecialRegister::NctaidZ},
    {"%laneid", SpecialRegister::LaneId},
    {"%warpid", SpecialRegister::WarpId},
    {"%nwarpid", SpecialRegister::NumWarps},
    {"%smid", SpecialRegister::SmId},
    {"%nsmid", SpecialRegister::NumSms},
    {"%gridid", SpecialRegister::GridId},
    {"%lanemask_eq", SpecialRegister::LanemaskEq},
    {"%lanemask_le", SpecialRegister::LanemaskLe},
    {"%lanemask_lt", SpecialRegister::LanemaskLt},
    {"%lanemask_ge", SpecialRegister::LanemaskGe},
    {"%lanemask_gt", SpecialRegister::LanemaskGt},
    {"%dynamic_smem_size", SpecialRegister::DynamicSharedBytes},
    {"%total_smem_size", SpecialRegister::TotalSharedBytes},
    {"%clusterid.x", SpecialRegister::ClusterIdX},
    {"%clusterid.y", SpecialRegister::ClusterIdY},
    {"%clusterid.z", SpecialRegister::ClusterIdZ},
    {"%nclusterid.x", SpecialRegister::NclusterIdX},
    {"%nclusterid.y", SpecialRegister::NclusterIdY},
    {"%nclusterid.z", SpecialRegister::NclusterIdZ},
    {"%cluster_ctaid.x", SpecialRegister::ClusterCtaidX},
    {"%cluster_ctaid.y", SpecialRegister::ClusterCtaidY},
    {"%cluster_ctaid.z", SpecialRegister::ClusterCtaidZ},
    {"%cluster_nctaid.x", SpecialRegister::ClusterNctaidX},
    {"%cluster_nctaid.y", SpecialRegister::ClusterNctaidY},
    {"%cluster_nctaid.z", SpecialRegister::ClusterNctaidZ},
    {"%cluster_ctarank", SpecialRegister::ClusterCtaRank},
    {"%cluster_nctarank", SpecialRegister::ClusterNctaRank},
    {"%is_explicit_cluster", SpecialRegister::IsExplicitCluster},
    {"%clock", SpecialRegister::Clock},
    {"%clock64", SpecialRegister::Clock64},
    {"%globaltimer", SpecialRegister::GlobalTimer},
    {"%globaltimer_lo", SpecialRegister::GlobalTimerLow},
};

bool isWide(SpecialRegister which) {
  return which == SpecialRegister::Clock64 || which == SpecialRegister::GlobalTimer ||
         which == SpecialRegister::GridId;
}

} // namespace

Slot Decoder::specialSlot(const std::string &name, Type type) {
  auto known = specialRegisters.find(name);
  if (known != specialRegisters.end())
    return known->second;
  for (const Named &named : names) {
    if (name != named.name)
      continue;
    bool wide =
        isWide(named.which) && !(named.which == SpecialRegister::GridId && bitsOf(type) == 32);
    Type held = named.which == SpecialRegister::IsExplicitCluster ? Type::Pred
                : wide                                            ? Type::U64
                                                                  : Type::U32;
    uint32_t reg = temporary(held);
    specialRegisters[name] = reg;
    program->specials.push_back({named.which, reg});
    return reg;
  }
  fail("special register " + name + " is not supported");
}

void fillSpecialRegisters(Warp &warp) {
  const Launch &launch = *warp.launch;
  const Block &block = *warp.block;
  const Dimensions &grid = launch.grid, &shape = launch.block, &cluster = launch.cluster;
  for (const SpecialUse &use : launch.program->specials) {
    if (use.which == SpecialRegister::IsExplicitCluster) {
      warp.predicate(use.slot) = cluster.count() > 1 ? fullMask : 0;
      continue;
    }
    if (use.which == SpecialRegister::Clock64 || use.which == SpecialRegister::GlobalTimer) {
      for (uint32_t lane = 0; lane < warpSize; ++lane)
        warp.lanes<uint64_t>(use.slot)[lane] = warp.executed;
      continue;
    }
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t thread = warp.index * warpSize + lane;
      const uint32_t below = (1u << lane) - 1;
      uint32_t value = 0;
      switch (use.which) {
      case SpecialRegister::TidX:
        value = thread % shape.x;
        break;
      case SpecialRegister::TidY:
        value = thread / shape.x % shape.y;
        break;
      case SpecialRegister::TidZ:
        value = thread / shape.x / shape.y;
        break;
      case SpecialRegister::NtidX:
        value = shape.x;
        break;
      case SpecialRegister::NtidY:
        value = shape.y;
        break;
      case SpecialRegister::NtidZ:
        value = shape.z;
        break;
      case SpecialRegister::CtaidX:
        value = block.id[0];
        break;
      case SpecialRegister::CtaidY:
        value = block.id[1];
        break;
      case SpecialRegister::CtaidZ:
        value = block.id[2];
        break;
      case SpecialRegister::NctaidX:
        value = grid.x;
        break;
      case SpecialRegister::NctaidY:
        value = grid.y;
        break;
      case SpecialRegister::NctaidZ:
        value = grid.z;
        break;
      case SpecialRegister::LaneId:
        value = lane;
        break;
      case SpecialRegister::WarpId:
        value = warp.index;
        break;
      case SpecialRegister::NumWarps:
        value = uint32_t(block.warps.size());
        break;
      case SpecialRegister::SmId:
        value = uint32_t(block.linear % launch.multiprocessors);
        break;
      case SpecialRegister::NumSms:
        value = launch.multiprocessors;
        break;
      case SpecialRegister::LanemaskEq:
        value = 1u << lane;
        break;
      case SpecialRegister::LanemaskLt:
        value = below;
        break;
      case SpecialRegister::LanemaskLe:
        value = below | 1u << lane;
        break;
      case SpecialRegister::LanemaskGt:
        value = ~(below | 1u << lane);
        break;
      case SpecialRegister::LanemaskGe:
        value = ~below;
        break;
      case SpecialRegister::DynamicSharedBytes:
        value = launch.dynamicSharedBytes;
        break;
      case SpecialRegister::TotalSharedBytes:
        value = block.sharedBytes;
        break;
      case SpecialRegister::ClusterIdX:
        value = block.id[0] / cluster.x;
        break;
      case SpecialRegister::ClusterIdY:
        value = block.id[1] / cluster.y;
        break;
      case SpecialRegister::ClusterIdZ:
        value = block.id[2] / cluster.z;
        break;
      case SpecialRegister::NclusterIdX:
        value = grid.x / cluster.x;
        break;
      case SpecialRegister::NclusterIdY:
        value = grid.y / cluster.y;
        break;
      case SpecialRegister::NclusterIdZ:
        value = grid.z / cluster.z;
        break;
      case SpecialRegister::ClusterCtaidX:
        value = block.id[0] % cluster.x;
        break;
      case SpecialRegister::ClusterCtaidY:
        value = block.id[1] % cluster.y;
        break;
      case SpecialRegister::ClusterCtaidZ:
        value = block.id[2] % cluster.z;
        break;
      case SpecialRegister::ClusterNctaidX:
        value = cluster.x;
        break;
      case SpecialRegister::ClusterNctaidY:
        value = cluster.y;
        break;
      case SpecialRegister::ClusterNctaidZ:
        value = cluster.z;
        break;
      case SpecialRegister::ClusterCtaRank:
        value = block.clusterRank;
        break;
      case SpecialRegister::ClusterNctaRank:
        value = uint32_t(cluster.count());
        break;
      case SpecialRegister::Clock:
      case SpecialRegister::GlobalTimerLow:
        value = uint32_t(warp.executed);
        break;
      default:
        break;
      }
      warp.lanes<uint32_t>(use.slot)[lane] = value;
    }
  }
}

} // namespace ingot::simulator
