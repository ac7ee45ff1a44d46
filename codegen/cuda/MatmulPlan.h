// SPDX-License-Identifier: Apache-2.0
// The sizes of tensor-core kernels: tiles, stages and shared memory, and how blocks share k. They
// are counted as kernels/MatmulPipeline.cuh counts.
#pragma once

#include "codegen/cuda/MatmulLayout.h"
#include "codegen/cuda/MatmulShape.h"

namespace ingot::codegen {

inline constexpr int64_t kWarpSize = 32, kTileRows = 16, kBlockTokens = 8;
/// Sums of a lane that leave room for a second block.
inline constexpr int64_t kFewSums = 16;

/// Whether blocks may share k, and where their sums meet: in global memory, or in the shared memory
/// of a cluster.
enum class Sharing { None, Workspace, Cluster };

/// How a block's warps share a tile; for at most `most` tokens.
struct Tile {
  int64_t most;
  int64_t along, across;         ///< warps
  int64_t rowTiles, tokenBlocks; ///< of a warp: 16 rows, 8 tokens
  Sharing sharing;
  int64_t producers = 0;   ///< threads besides, which bring what the warps multiply
  bool fromShared = false; ///< instructions read weights where they lie in shared memory

  /// Those that multiply.
  int64_t threads() const { return along * across * kWarpSize; }
  int64_t rows() const { return along * rowTiles * kTileRows; }
  int64_t tokens() const { return across * tokenBlocks * kBlockTokens; }
  int64_t sums() const { return rowTiles * tokenBlocks * 4; }
};

/// What a template needs of memory and registers.
struct MatmulNeeds {
  int64_t inputAlignment; ///< of the inputs in a stage
  int64_t otherShared;    ///< shared memory besides what is planned: its own and the driver's
  bool opensGroups;       ///< all groups of a stage have registers of their own at once
  bool putsTotals;        ///< totals of segments stand in shared memory
};

/// One kernel's sizes.
struct Plan {
  Tile tile;
  int64_t depth; ///< columns of k in a stage
  int64_t group; ///< 0: scales are applied to whole sums
  int64_t stageBytes = 0, decodedBytes = 0, totalBytes = 0, stages = 0, shared = 0;
  int64_t blocks = 0; ///< that a multiprocessor has room for
};

/// Bits of an element.
inline int64_t bitsOf(mlir::Type type) { return engine::elementBits(type); }
inline int64_t bitsOf(mlir::Value tensor) {
  return bitsOf(mlir::cast<mlir::RankedTensorType>(tensor.getType()).getElementType());
}

/// Whether groups are so short that many are open at once, and need registers besides those of the
/// sums: tables, zeros, or sums of inputs.
bool isCrowded(const MatmulShape &shape);

/// The group that the templates close sums by: zero points and offsets of whole rows are one long
/// group.
int64_t groupOf(const MatmulShape &shape);

/// Numbers that a scale and what goes with it are.
int64_t partsOf(const MatmulShape &shape);

/// The layout in which tensor cores take the weight; nothing where they cannot.
std::optional<FragmentLayout> fragmentsOf(llm::MatmulOp op, const MatmulShape &shape);

/// The sizes for `tile`; nothing if the architecture has too little shared memory.
std::optional<Plan> planFor(llm::MatmulOp op, const MatmulShape &shape, const Tile &tile,
                            const MatmulNeeds &needs, const CudaArchitecture &architecture);

/// What tuning compares for `tile`: the sizes above, all other depths and numbers of blocks, and
/// the first with k not shared.
llvm::SmallVector<Plan> plansFor(llm::MatmulOp op, const MatmulShape &shape, const Tile &tile,
                                 const MatmulNeeds &needs, const CudaArchitecture &architecture);

/// Blocks that share the `segments` of k by a workspace, for each multiprocessor: those that run at
/// the same time, or some waves of them where one wave would leave many places empty; 0 where k is
/// not shared, as when tiles fill the typical part. Sums on their way have a place for each segment
/// and element of a result of `tile.most` rows: at most half a byte for each element of this
/// weight.
int64_t sharingBlocks(const Plan &plan, const MatmulShape &shape, int64_t segments,
                      const CudaArchitecture &architecture);

/// Blocks of a cluster that share the `segments` of k of a tile; 1 where k is not shared.
int64_t clusterBlocks(const Tile &tile, const MatmulShape &shape, int64_t segments,
                      const CudaArchitecture &architecture);

/// Blocks that share k in `plan` on the typical part, of those that `segments` allow.
int64_t typicalShares(const Plan &plan, const MatmulShape &shape, int64_t segments,
                      const CudaArchitecture &architecture);

/// The columns of the segments of the kernel for `plan`.
int64_t segmentOf(const Plan &plan, const MatmulShape &shape, const CudaArchitecture &architecture);

/// Tiles of tokens after which blocks come to the next rows of the weight; 0: all of them. A square
/// of blocks at work reads least; and as long as L2 keeps the inputs of more tiles, weights are
/// read less often.
int64_t tokenGroup(const Plan &plan, const MatmulShape &shape, const CudaPart &part);

/// Adds tensor maps of the weight and of what stages hold beside it, and where other threads bring
/// them of the inputs.
void addTensorMaps(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
                   const Plan &plan);

} // namespace ingot::codegen
