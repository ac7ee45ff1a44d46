// SPDX-License-Identifier: Apache-2.0
// Counts bytes and blocks.
#include "codegen/cuda/MatmulPlan.h"

#include "dialects/llm/LlmMatmulOps.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr int64_t kMostStages = 6;
/// Of a token in one copy, where tensor copies bring inputs.
constexpr int64_t kSwizzledBytes = 128;
/// Of a stage's barrier, where tensor copies fill stages; what they write is aligned to this.
constexpr int64_t kBarrierBytes = 128;
constexpr int64_t kMostTiles = engine::kCounterBytes / 4;
/// Of a grid along rows of the weight (gridDim.y).
constexpr int64_t kMostRowTiles = 65535;
constexpr int64_t kLeastTileRows = 128; ///< of all tiles
/// Blocks of a cluster: what every part runs, and warps of a block.
constexpr int64_t kMostClustered = 8;
/// Blocks of clusters for each multiprocessor.
constexpr int64_t kMostResidents = 2;
/// Columns of whole stages.
constexpr int64_t kStageStep = 128;

/// Whether the third tensor has a number for each group.
bool hasGroupZeros(const MatmulShape &shape) {
  return shape.zeros == kZeroPoints || shape.zeros == kOffsets;
}

/// A weight's numbers by group beside it: for 16 rows, records of so many bytes for so many columns
/// of k; as Records of kernels/MatmulPipeline.cuh.
struct Records {
  Value tensor;
  int64_t columns, bytes;

  int64_t inStage(int64_t depth) const { return std::max<int64_t>(depth / columns, 1); }
};

/// Those that stages hold: of scales, of zeros, of super-block scales.
llvm::SmallVector<Records, 3> recordsOf(llm::MatmulOp op, const MatmulShape &shape, int64_t group) {
  llvm::SmallVector<Records, 3> records;
  if (group == 0)
    return records;
  auto plain = [&](Value tensor) {
    records.push_back({tensor, group, kTileRows * bitsOf(tensor) / 8});
  };
  auto codes = [&](Value tensor) {
    records.push_back({tensor, kCodeGroups * group, kCodeGroups * kTileRows * bitsOf(tensor) / 8});
  };
  llm::EncodedWeight weight = op.getEncodedWeight();
  bool blocks = shape.scales == kBlockScales;
  shape.scales == kPlainScales ? plain(weight.scales) : codes(weight.scales);
  if (hasGroupZeros(shape))
    blocks ? codes(weight.zeros) : plain(weight.zeros);
  if (blocks)
    records.push_back({weight.superScales, kSuperColumns,
                       kTileRows * partsOf(shape) * bitsOf(weight.superScales) / 8});
  return records;
}

/// Columns of k in a packed block of 16 rows, and its bytes; as kernels/MatmulFragments.cuh.
int64_t blockDepth(const MatmulShape &shape) {
  int64_t bits = bitsOf(shape.weight);
  return bits < 8 ? 64 : bits == 8 ? 32 : 16;
}
int64_t blockBytes(const MatmulShape &shape) {
  return blockDepth(shape) * kTileRows * bitsOf(shape.weight) / 8;
}

/// Sets the bytes of a stage and of decoded scales; counted as in kernels/MatmulPipeline.cuh and
/// kernels/MatmulScales.cuh.
void planBytes(Plan &plan, llm::MatmulOp op, const MatmulShape &shape, const MatmulNeeds &needs,
               const CudaArchitecture &architecture) {
  plan.stageBytes = llvm::alignTo(plan.tile.rows() * plan.depth * bitsOf(shape.weight) / 8,
                                  needs.inputAlignment) +
                    plan.tile.tokens() * plan.depth * shape.inputBytes;
  for (const Records &records : recordsOf(op, shape, plan.group))
    plan.stageBytes += plan.tile.rows() / kTileRows * records.inStage(plan.depth) * records.bytes;
  plan.stageBytes += architecture.hasTensorCopies() ? kBarrierBytes : 0;
  plan.stageBytes = llvm::alignTo(plan.stageBytes, needs.inputAlignment);
  // Until the order of sums is known there may be segments, one for each block of a cluster.
  int64_t segments = shape.segment == 0 ? 2 : segmentsOf(shape, shape.segment);
  if (needs.putsTotals && segments > 1)
    plan.totalBytes = plan.tile.tokens() * plan.tile.rows() * 4;
  if (plan.tile.sharing == Sharing::Cluster && shape.segment != 0)
    plan.totalBytes *=
        llvm::divideCeil(segments, clusterBlocks(plan.tile, shape, segments, architecture));
  // Every warp decodes those of its own rows, as f32.
  if (shape.scales != kPlainScales)
    plan.decodedBytes = plan.tile.along * plan.tile.across * plan.tile.rowTiles * kTileRows *
                        (plan.depth / plan.group) * partsOf(shape) * 4;
}

/// Blocks that may share a multiprocessor: larger tiles have its registers to themselves.
int64_t mostBlocks(const Tile &tile) { return tile.sums() <= kFewSums ? 2 : 1; }

/// As many stages as fit when `blocks` blocks share a multiprocessor; false if these are too few.
bool planStages(Plan &plan, const MatmulNeeds &needs, const CudaArchitecture &architecture,
                int64_t blocks) {
  int64_t sums = plan.tile.tokens() * (plan.tile.rows() + 4) * 4;
  int64_t room = std::min(architecture.sharedPerMultiprocessor / blocks - needs.otherShared,
                          architecture.sharedPerBlock - needs.otherShared);
  int64_t stages =
      std::min((room - plan.decodedBytes - plan.totalBytes) / plan.stageBytes, kMostStages);
  if (stages < 2 || sums > room)
    return false;
  plan.stages = stages;
  plan.blocks = blocks;
  plan.shared = std::max(stages * plan.stageBytes + plan.decodedBytes + plan.totalBytes, sums);
  return true;
}

/// Stages and shared memory: what keeps the most bytes on their way to a multiprocessor.
void planMemory(Plan &plan, const MatmulNeeds &needs, const CudaArchitecture &architecture) {
  int64_t most = 0;
  for (int64_t blocks = mostBlocks(plan.tile); blocks > 0; --blocks) {
    Plan tried = plan;
    if (!planStages(tried, needs, architecture, blocks) || blocks * (tried.stages - 1) <= most)
      continue;
    most = blocks * (tried.stages - 1);
    plan = tried;
  }
}

/// Columns of k that a stage may have, the most first.
llvm::SmallVector<int64_t, 2> depthsOf(const Plan &plan, const MatmulShape &shape,
                                       const MatmulNeeds &needs) {
  // Rows of tokens are at least 128 bytes; weights of few bits get deeper stages.
  bool wide = plan.tile.tokens() > 64 && shape.inputBytes == 2;
  // Every group of a stage costs registers beside the sums.
  bool crowded = needs.opensGroups && plan.group > 0 && plan.group < 64 &&
                 plan.tile.sums() + (isCrowded(shape) ? 1 : 0) > kFewSums;
  bool deep = bitsOf(shape.weight) <= 8 && !wide && !crowded;
  llvm::SmallVector<int64_t, 2> depths;
  for (int64_t depth : {128, 64}) {
    bool fits = plan.group == 0 || plan.group % depth == 0 || depth % plan.group == 0;
    if (fits && depth * shape.inputBytes >= 128 && (depth == 64 || deep))
      depths.push_back(depth);
  }
  return depths;
}

/// Blocks along k for each tile of the weight, where so many places are to be filled.
int64_t sharesOf(int64_t tiles, int64_t segments, int64_t places) {
  return std::clamp<int64_t>(places / tiles, 1, segments);
}

} // namespace

bool codegen::isCrowded(const MatmulShape &shape) {
  return shape.group > 0 && shape.group < 32 && shape.zeros > kNoZeros;
}

int64_t codegen::partsOf(const MatmulShape &shape) { return shape.zeros == kOffsets ? 2 : 1; }

int64_t codegen::groupOf(const MatmulShape &shape) {
  return shape.group == 0 && hasGroupZeros(shape) ? llvm::alignTo(shape.k, kSegmentStep)
                                                  : shape.group;
}

std::optional<FragmentLayout> codegen::fragmentsOf(llm::MatmulOp op, const MatmulShape &shape) {
  constexpr int64_t kAlignment = 16;
  bool halves = shape.input.isBF16() || shape.input.isF16();
  // What one instruction multiplies.
  const int64_t groupStep = halves ? 16 : 32;
  bool float8 = isa<Float8E4M3FNType>(shape.weight);
  bool encoded = bool(op.getEncoding());
  if (shape.k * shape.inputBytes % kAlignment != 0 || shape.group % groupStep != 0)
    return std::nullopt;
  if (shape.rows > kMostRowTiles * kLeastTileRows)
    return std::nullopt;
  // Every expert begins with a tile.
  if (shape.experts > 1 && shape.rows % kTileRows != 0)
    return std::nullopt;
  if (halves && shape.weight == shape.input && !encoded)
    return FragmentLayout::Halves;
  if (!encoded || (shape.zeros > kZeroPoints && !halves))
    return std::nullopt;
  // A stage has whole groups of one record of codes.
  if (shape.scales != kPlainScales && shape.group != 16 && shape.group != 32)
    return std::nullopt;
  if (shape.zeros == kCodeBook)
    return shape.weight.isInteger(4) ? std::optional(FragmentLayout::NibblePairs) : std::nullopt;
  if (shape.weight.isInteger(4))
    return halves          ? std::optional(FragmentLayout::Nibbles)
           : shape.integer ? std::optional(FragmentLayout::NibbleQuads)
                           : std::nullopt;
  if (shape.weight.isInteger() && hasPlanes(engine::elementBits(shape.weight)))
    return halves          ? std::optional(FragmentLayout::Planes)
           : shape.integer ? std::optional(FragmentLayout::PlaneQuads)
                           : std::nullopt;
  if (shape.weight.isInteger(8) || float8) {
    if (halves)
      return FragmentLayout::Bytes;
    // A byte less its zero point is no byte.
    if (float8 ? isa<Float8E4M3FNType>(shape.input) : shape.integer && shape.zeros == kNoZeros)
      return FragmentLayout::Quads;
  }
  return std::nullopt;
}

std::optional<Plan> codegen::planFor(llm::MatmulOp op, const MatmulShape &shape, const Tile &tile,
                                     const MatmulNeeds &needs,
                                     const CudaArchitecture &architecture) {
  Plan plan = {tile, 0, groupOf(shape)};
  for (int64_t depth : depthsOf(plan, shape, needs)) {
    plan.depth = depth;
    planBytes(plan, op, shape, needs, architecture);
    planMemory(plan, needs, architecture);
    if (plan.stages >= 3 || (plan.stages == 2 && depth == 64))
      return plan;
  }
  return plan.stages >= 2 ? std::optional(plan) : std::nullopt;
}

llvm::SmallVector<Plan> codegen::plansFor(llm::MatmulOp op, const MatmulShape &shape,
                                          const Tile &tile, const MatmulNeeds &needs,
                                          const CudaArchitecture &architecture) {
  std::optional<Plan> first = planFor(op, shape, tile, needs, architecture);
  if (!first)
    return {};
  llvm::SmallVector<Plan> plans = {*first};
  for (int64_t depth : depthsOf(*first, shape, needs))
    for (int64_t blocks = 1; blocks <= mostBlocks(tile); ++blocks) {
      Plan plan = {tile, depth, first->group};
      planBytes(plan, op, shape, needs, architecture);
      bool known = !planStages(plan, needs, architecture, blocks) ||
                   llvm::any_of(plans, [&](const Plan &other) {
                     return other.depth == plan.depth && other.stages == plan.stages;
                   });
      if (!known)
        plans.push_back(plan);
    }
  if (tile.sharing != Sharing::None) {
    first->tile.sharing = Sharing::None;
    plans.push_back(*first);
  }
  return plans;
}

int64_t codegen::sharingBlocks(const Plan &plan, const MatmulShape &shape, int64_t segments,
                               const CudaArchitecture &architecture) {
  int64_t tiles = llvm::divideCeil(shape.rows, plan.tile.rows());
  int64_t places = plan.blocks * architecture.typicalPart().multiprocessors;
  // Sums of the groups of a row are added in order, so integers with groups stay together. Experts
  // are blocks enough.
  if (plan.tile.sharing != Sharing::Workspace || segments == 1 ||
      (shape.integer && plan.group > 0) || tiles > places || tiles > kMostTiles ||
      shape.experts > 0 || shape.rowDim->each != 1)
    return 0;
  // Half segments, one more in each wave for filling the ring.
  auto length = [&](int64_t shares) {
    return llvm::divideCeil(tiles * shares, places) * (2 * llvm::divideCeil(segments, shares) + 1);
  };
  constexpr int64_t kMostWaves = 3;
  constexpr double kBetter = 0.9;
  int64_t waves = 1;
  for (int64_t more = 2; more <= kMostWaves; ++more)
    if (double(length(sharesOf(tiles, segments, more * places))) <
        kBetter * double(length(sharesOf(tiles, segments, waves * places))))
      waves = more;
  return sharesOf(tiles, segments, waves * places) > 1 ? waves * plan.blocks : 0;
}

int64_t codegen::clusterBlocks(const Tile &tile, const MatmulShape &shape, int64_t segments,
                               const CudaArchitecture &architecture) {
  int64_t tiles = llvm::divideCeil(shape.rows, tile.rows());
  int64_t multiprocessors = architecture.typicalPart().multiprocessors;
  int64_t best = 1;
  if (tile.sharing != Sharing::Cluster || shape.integer || shape.experts > 0 ||
      shape.rowDim->each != 1)
    return best;
  auto length = [&](int64_t blocks) {
    return double(llvm::divideCeil(tiles * blocks, multiprocessors)) *
           double(llvm::divideCeil(segments, blocks));
  };
  for (int64_t blocks = 2; blocks <= std::min(segments, kMostClustered); ++blocks)
    if (tiles * blocks <= kMostResidents * multiprocessors && length(blocks) < length(best))
      best = blocks;
  return best;
}

int64_t codegen::typicalShares(const Plan &plan, const MatmulShape &shape, int64_t segments,
                               const CudaArchitecture &architecture) {
  if (plan.tile.sharing == Sharing::Cluster)
    return clusterBlocks(plan.tile, shape, segments, architecture);
  return sharesOf(llvm::divideCeil(shape.rows, plan.tile.rows()), segments,
                  sharingBlocks(plan, shape, segments, architecture) *
                      architecture.typicalPart().multiprocessors);
}

/// Columns of the segments that suit `plan`: one for each of the blocks that share k then. Integers
/// are exact in any: theirs are short, so that blocks can share them evenly.
static int64_t segmentFor(const Plan &plan, const MatmulShape &shape,
                          const CudaArchitecture &architecture) {
  if (shape.integer)
    return kSegmentStep;
  // Blocks of a cluster are few, and have equal parts then.
  bool fine =
      plan.tile.sharing == Sharing::Cluster && kStageStep % std::max<int64_t>(shape.group, 1) == 0;
  int64_t step = fine ? kStageStep : kSegmentStep;
  int64_t steps = segmentsOf(shape, step);
  return step * llvm::divideCeil(steps, typicalShares(plan, shape, steps, architecture));
}

int64_t codegen::segmentOf(const Plan &plan, const MatmulShape &shape,
                           const CudaArchitecture &architecture) {
  return shape.segment && !shape.integer ? shape.segment : segmentFor(plan, shape, architecture);
}

int64_t codegen::tokenGroup(const Plan &plan, const MatmulShape &shape, const CudaPart &part) {
  const Tile &tile = plan.tile;
  if (tile.most != INT64_MAX && shape.experts == 0)
    return 0;
  double places = double(plan.blocks * part.multiprocessors);
  auto square = int64_t(std::sqrt(places * double(tile.rows()) / double(tile.tokens())));
  int64_t kept = part.cacheBytes / 2 / (tile.tokens() * shape.k * shape.inputBytes);
  return std::max<int64_t>({square, kept, 1});
}

void codegen::addTensorMaps(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
                            const Plan &plan) {
  int64_t tiles = llvm::divideCeil(shape.rows * std::max<int64_t>(shape.experts, 1), kTileRows);
  int64_t tileRows = plan.tile.rows() / kTileRows;
  auto add = [&](const Records &records) {
    int64_t all = llvm::divideCeil(shape.k, records.columns);
    variant.tensorMap(op, records.tensor, tiles, all * records.bytes, tileRows,
                      records.inStage(plan.depth) * records.bytes);
  };
  add({op.getWeight(), blockDepth(shape), blockBytes(shape)});
  llvm::for_each(recordsOf(op, shape, plan.group), add);
  if (plan.tile.producers > 0) {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    variant.tensorMap(op, op.getInput(), llm::rowsOf(type).getText(), shape.k * shape.inputBytes,
                      plan.tile.tokens(), kSwizzledBytes,
                      {shape.input, kSwizzledBytes, /*isWritten=*/true});
  }
}
