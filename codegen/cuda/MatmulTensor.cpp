// SPDX-License-Identifier: Apache-2.0
// Which products tensor cores form, in which layouts, and the tiles of MatmulTensor for each number
// of tokens.
#include "codegen/BuildCache.h"
#include "codegen/cuda/CudaTemplates.h"
#include "codegen/cuda/MatmulCost.h"
#include "codegen/cuda/MatmulLayout.h"
#include "codegen/cuda/MatmulShape.h"
#include "dialects/llm/LlmMatmulOps.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::LayoutAttr;
using engine::RangeAttr;

namespace {

constexpr int64_t kWarpSize = 32, kTileRows = 16, kBlockTokens = 8;
/// Shared memory that a block must leave alone: the driver's and the template's own.
constexpr int64_t kOtherShared = 2048;
constexpr int64_t kMostStages = 6;
/// Of a stage's barrier, where tensor copies fill stages; what they write is aligned to this.
constexpr int64_t kBarrierBytes = 128;
/// Numbers of tokens up to which the cost model chooses.
constexpr int64_t kMostChosen = 4096;
/// Sums of a lane that leave room for a second block.
constexpr int64_t kFewSums = 16;
constexpr int64_t kMostTiles = engine::kCounterBytes / 4;
/// Of a grid along rows of the weight (gridDim.y).
constexpr int64_t kMostRowTiles = 65535;

/// How a block's warps share a tile; for at most `most` tokens.
struct Tile {
  int64_t most;
  int64_t along, across;         ///< warps
  int64_t rowTiles, tokenBlocks; ///< of a warp: 16 rows, 8 tokens
  bool shares;                   ///< whether blocks may share k

  int64_t threads() const { return along * across * kWarpSize; }
  int64_t rows() const { return along * rowTiles * kTileRows; }
  int64_t tokens() const { return across * tokenBlocks * kBlockTokens; }
  int64_t sums() const { return rowTiles * tokenBlocks * 4; }
};

/// Few tokens: every warp has rows of its own, and blocks share k.
constexpr Tile kFewTokens[] = {
    {8, 8, 1, 1, 1, true}, {16, 8, 1, 1, 2, true}, {32, 8, 1, 1, 4, true}, {64, 4, 2, 2, 4, true}};
/// Many tokens: the tile is as near to square as registers allow. Sums by group need some for each
/// group besides those of the segment and of all.
constexpr Tile kManyGrouped = {INT64_MAX, 4, 2, 2, 4, false};
constexpr Tile kManyCrowded = {INT64_MAX, 4, 2, 2, 2, false};
constexpr Tile kManyHalves = {INT64_MAX, 2, 4, 4, 4, false};
constexpr Tile kManyBytes = {INT64_MAX, 4, 2, 2, 8, false};

constexpr int64_t kLeastTileRows = 128; ///< of all tiles above

/// The layout in which tensor cores take the weight; nothing where they cannot.
std::optional<FragmentLayout> fragmentsOf(llm::MatmulOp op, const MatmulShape &shape) {
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

/// One kernel's sizes.
struct Plan {
  Tile tile;
  int64_t depth; ///< columns of k in a stage
  int64_t group; ///< 0: scales are applied to whole sums
  int64_t stageBytes = 0, decodedBytes = 0, stages = 0, shared = 0;
  int64_t blocks = 0; ///< that a multiprocessor has room for
};

int64_t bitsOf(Type type) { return engine::elementBits(type); }
int64_t bitsOf(Value tensor) {
  return bitsOf(cast<RankedTensorType>(tensor.getType()).getElementType());
}

/// Whether the third tensor has a number for each group.
bool hasGroupZeros(const MatmulShape &shape) {
  return shape.zeros == kZeroPoints || shape.zeros == kOffsets;
}

/// Numbers that a scale and what goes with it are.
int64_t partsOf(const MatmulShape &shape) { return shape.zeros == kOffsets ? 2 : 1; }

/// The group that the template closes sums by: zero points and offsets of whole rows are one long
/// group.
int64_t groupOf(const MatmulShape &shape) {
  return shape.group == 0 && hasGroupZeros(shape) ? llvm::alignTo(shape.k, kSegmentStep)
                                                  : shape.group;
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

/// Whether groups are so short that many are open at once, and need registers besides those of the
/// sums: tables, zeros, or sums of inputs.
bool isCrowded(const MatmulShape &shape) {
  return shape.group > 0 && shape.group < 32 && shape.zeros > kNoZeros;
}

/// Sets the bytes of a stage and of decoded scales; counted as in kernels/MatmulPipeline.cuh and
/// kernels/MatmulScales.cuh.
void planBytes(Plan &plan, llm::MatmulOp op, const MatmulShape &shape,
               const CudaArchitecture &architecture) {
  plan.stageBytes = plan.tile.rows() * plan.depth * bitsOf(shape.weight) / 8 +
                    plan.tile.tokens() * plan.depth * shape.inputBytes;
  for (const Records &records : recordsOf(op, shape, plan.group))
    plan.stageBytes += plan.tile.rows() / kTileRows * records.inStage(plan.depth) * records.bytes;
  plan.stageBytes += architecture.hasTensorCopies() ? kBarrierBytes : 0;
  // Every warp decodes those of its own rows, as f32.
  if (shape.scales != kPlainScales)
    plan.decodedBytes = plan.tile.along * plan.tile.across * plan.tile.rowTiles * kTileRows *
                        (plan.depth / plan.group) * partsOf(shape) * 4;
}

/// Blocks that may share a multiprocessor: larger tiles have its registers to themselves.
int64_t mostBlocks(const Tile &tile) { return tile.sums() <= kFewSums ? 2 : 1; }

/// As many stages as fit when `blocks` blocks share a multiprocessor; false if these are too few.
bool planStages(Plan &plan, const CudaArchitecture &architecture, int64_t blocks) {
  int64_t sums = plan.tile.tokens() * (plan.tile.rows() + 4) * 4;
  int64_t room = std::min(architecture.sharedPerMultiprocessor / blocks - kOtherShared,
                          architecture.sharedPerBlock - kOtherShared);
  int64_t stages = std::min((room - plan.decodedBytes) / plan.stageBytes, kMostStages);
  if (stages < 2 || sums > room)
    return false;
  plan.stages = stages;
  plan.blocks = blocks;
  plan.shared = std::max(stages * plan.stageBytes + plan.decodedBytes, sums);
  return true;
}

/// Stages and shared memory: what keeps the most bytes on their way to a multiprocessor.
void planMemory(Plan &plan, const CudaArchitecture &architecture) {
  int64_t most = 0;
  for (int64_t blocks = mostBlocks(plan.tile); blocks > 0; --blocks) {
    Plan tried = plan;
    if (!planStages(tried, architecture, blocks) || blocks * (tried.stages - 1) <= most)
      continue;
    most = blocks * (tried.stages - 1);
    plan = tried;
  }
}

/// Columns of k that a stage may have, the most first.
llvm::SmallVector<int64_t, 2> depthsOf(const Plan &plan, const MatmulShape &shape) {
  // Rows of tokens are at least 128 bytes; weights of few bits get deeper stages.
  bool wide = plan.tile.tokens() > 64 && shape.inputBytes == 2;
  // Every group of a stage costs registers beside the sums.
  bool crowded =
      plan.group > 0 && plan.group < 64 && plan.tile.sums() + (isCrowded(shape) ? 1 : 0) > kFewSums;
  bool deep = bitsOf(shape.weight) <= 8 && !wide && !crowded;
  llvm::SmallVector<int64_t, 2> depths;
  for (int64_t depth : {128, 64}) {
    bool fits = plan.group == 0 || plan.group % depth == 0 || depth % plan.group == 0;
    if (fits && depth * shape.inputBytes >= 128 && (depth == 64 || deep))
      depths.push_back(depth);
  }
  return depths;
}

/// The sizes for `tile`; nothing if the architecture has too little shared memory.
std::optional<Plan> planFor(llm::MatmulOp op, const MatmulShape &shape, const Tile &tile,
                            const CudaArchitecture &architecture) {
  Plan plan = {tile, 0, groupOf(shape)};
  for (int64_t depth : depthsOf(plan, shape)) {
    plan.depth = depth;
    planBytes(plan, op, shape, architecture);
    planMemory(plan, architecture);
    if (plan.stages >= 3 || (plan.stages == 2 && depth == 64))
      return plan;
  }
  return plan.stages >= 2 ? std::optional(plan) : std::nullopt;
}

/// Whether e4m3 meets e4m3 in an instruction of its own. One that keeps fewer bits of its sums than
/// 16-bit products do would give other numbers than the rest of the architectures: there, and where
/// there is none, both sides are decoded to f16, which is exact.
bool multipliesFloat8(const MatmulShape &shape, const CudaArchitecture &architecture) {
  return isa<Float8E4M3FNType>(shape.input) && architecture.fp8SumBits >= kHalfSumBits;
}

/// What tuning compares for `tile`: the sizes above, all other depths and numbers of blocks, and
/// the first with k not shared.
llvm::SmallVector<Plan> plansFor(llm::MatmulOp op, const MatmulShape &shape, const Tile &tile,
                                 const CudaArchitecture &architecture) {
  std::optional<Plan> first = planFor(op, shape, tile, architecture);
  if (!first)
    return {};
  llvm::SmallVector<Plan> plans = {*first};
  for (int64_t depth : depthsOf(*first, shape))
    for (int64_t blocks = 1; blocks <= mostBlocks(tile); ++blocks) {
      Plan plan = {tile, depth, first->group};
      planBytes(plan, op, shape, architecture);
      bool known =
          !planStages(plan, architecture, blocks) || llvm::any_of(plans, [&](const Plan &other) {
            return other.depth == plan.depth && other.stages == plan.stages;
          });
      if (!known)
        plans.push_back(plan);
    }
  if (tile.shares) {
    first->tile.shares = false;
    plans.push_back(*first);
  }
  return plans;
}

/// What the kernel's instructions multiply.
ProductType productOf(const MatmulShape &shape, const CudaArchitecture &architecture) {
  return shape.integer                           ? ProductType::Integers
         : multipliesFloat8(shape, architecture) ? ProductType::Float8
                                                 : ProductType::Halves;
}

/// Blocks along k for each tile of the weight, where so many places are to be filled.
int64_t sharesOf(int64_t tiles, int64_t segments, int64_t places) {
  return std::clamp<int64_t>(places / tiles, 1, segments);
}

/// Blocks that share the `segments` of k, for each multiprocessor: those that run at the same time,
/// or some waves of them where one wave would leave many places empty; 0 where k is not shared, as
/// when tiles fill the typical part. Sums on their way have a place for each segment and element of
/// a result of `tile.most` rows: at most half a byte for each element of this weight.
int64_t sharingBlocks(const Plan &plan, const MatmulShape &shape, int64_t segments,
                      const CudaArchitecture &architecture) {
  int64_t tiles = llvm::divideCeil(shape.rows, plan.tile.rows());
  int64_t places = plan.blocks * architecture.typicalPart().multiprocessors;
  // Sums of the groups of a row are added in order, so integers with groups stay together. Experts
  // are blocks enough.
  if (!plan.tile.shares || segments == 1 || (shape.integer && plan.group > 0) || tiles > places ||
      tiles > kMostTiles || shape.experts > 0 || shape.rowDim->each != 1)
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

/// Blocks that share k in `plan` on the typical part, of those that `segments` allow.
int64_t typicalShares(const Plan &plan, const MatmulShape &shape, int64_t segments,
                      const CudaArchitecture &architecture) {
  return sharesOf(llvm::divideCeil(shape.rows, plan.tile.rows()), segments,
                  sharingBlocks(plan, shape, segments, architecture) *
                      architecture.typicalPart().multiprocessors);
}

/// Columns of the segments that suit `plan`: one for each of the blocks that share k then. Integers
/// are exact in any: theirs are short, so that blocks can share them evenly.
int64_t segmentFor(const Plan &plan, const MatmulShape &shape,
                   const CudaArchitecture &architecture) {
  if (shape.integer)
    return kSegmentStep;
  int64_t steps = segmentsOf(shape, kSegmentStep);
  return kSegmentStep * llvm::divideCeil(steps, typicalShares(plan, shape, steps, architecture));
}

/// The columns of the segments of the kernel for `plan`.
int64_t segmentOf(const Plan &plan, const MatmulShape &shape,
                  const CudaArchitecture &architecture) {
  return shape.segment && !shape.integer ? shape.segment : segmentFor(plan, shape, architecture);
}

/// The order of the kernels with segments of `columns` columns.
engine::SumsAttr tensorOrder(llm::MatmulOp op, const MatmulShape &shape, int64_t columns,
                             const CudaArchitecture &architecture) {
  constexpr int64_t kHalvesWidth = 16, kBytesWidth = 32;
  return sumsOf(op, shape, engine::SumUnit::Tensor,
                multipliesFloat8(shape, architecture) ? kBytesWidth : kHalvesWidth, groupOf(shape),
                columns);
}

/// Whether one tile of tokens reads the weight: a tile for few tokens takes all of them, and those
/// of an expert with few exceptions.
bool readsOnce(const Tile &tile) { return tile.most != INT64_MAX; }

/// Tiles of tokens after which blocks come to the next rows of the weight; 0: all of them. A square
/// of blocks at work reads least; and as long as L2 keeps the inputs of more tiles, weights are
/// read less often.
int64_t tokenGroup(const Plan &plan, const MatmulShape &shape, const CudaPart &part) {
  const Tile &tile = plan.tile;
  if (tile.most != INT64_MAX && shape.experts == 0)
    return 0;
  double places = double(plan.blocks * part.multiprocessors);
  auto square = int64_t(std::sqrt(places * double(tile.rows()) / double(tile.tokens())));
  int64_t kept = part.cacheBytes / 2 / (tile.tokens() * shape.k * shape.inputBytes);
  return std::max<int64_t>({square, kept, 1});
}

/// Tensor maps of the weight and of what stages hold beside it; as kernels/MatmulPipeline.cuh
/// counts its rows and stages.
void addTensorMaps(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
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
}

KernelVariant tensorKernel(llm::MatmulOp op, const MatmulShape &shape, const Plan &plan,
                           const CudaArchitecture &architecture) {
  const Tile &tile = plan.tile;
  CudaVariant variant("MatmulTensor", op, tile.threads());
  int64_t segment = segmentOf(plan, shape, architecture), segments = segmentsOf(shape, segment);
  describeMatmul(variant, op, shape, segment);
  variant.integer("group", plan.group);
  variant.integer("warps_along", tile.along);
  variant.integer("warps_across", tile.across);
  variant.integer("row_tiles", tile.rowTiles);
  variant.integer("token_blocks", tile.tokenBlocks);
  variant.integer("tile_depth", plan.depth);
  variant.integer("stages", plan.stages);
  variant.integer("shared_bytes", plan.shared);
  variant.shared(plan.shared);
  int64_t sharing = sharingBlocks(plan, shape, segments, architecture);
  bool shares = sharing > 0;
  variant.integer("shares_depth", shares);
  variant.integer("weights_once", readsOnce(tile));
  variant.integer("token_group", tokenGroup(plan, shape, architecture.typicalPart()));
  ProductType type = productOf(shape, architecture);
  variant.integer("float8_products", type == ProductType::Float8);
  variant.peak(architecture, type);
  variant.expects(type == ProductType::Integers ? "IMMA"
                  : type == ProductType::Float8 ? "QMMA"
                                                : "HMMA");
  variant.expects("LDSM");
  variant.expects("LDGSTS");
  if (architecture.hasTensorCopies()) {
    variant.expects("UTMALDG");
    addTensorMaps(variant, op, shape, plan);
  }
  int64_t tiles = llvm::divideCeil(shape.rows, tile.rows());
  addRowTiles(variant, op, tile.tokens());
  variant.tiles(tiles);
  if (shares)
    variant.extent((llvm::Twine(sharing) + " * sms floordiv " + llvm::Twine(tiles) + " max 1 min " +
                    llvm::Twine(segments))
                       .str());
  int64_t aside = tiles * segments * tile.threads() * tile.sums() * 4;
  static const std::string madeFrom = CacheKey().add(cudaTemplateText("MatmulTensor.cu")).text();
  variant.candidate("MatmulTensor:" + llvm::Twine(tile.along) + "x" + llvm::Twine(tile.across) +
                        "x" + llvm::Twine(tile.rowTiles) + "x" + llvm::Twine(tile.tokenBlocks) +
                        ",d" + llvm::Twine(plan.depth) + ",s" + llvm::Twine(plan.stages) +
                        (shares ? ",k" : ""),
                    madeFrom);
  // Kernels that share take one tile of tokens (their guard), whatever T the memory is planned for.
  variant.workspace(llvm::Twine(engine::kCounterBytes + (shares ? aside : 0)).str());
  KernelVariant kernel = variant.take();
  kernel.sums = tensorOrder(op, shape, segment, architecture);
  // Sums on their way have places for these rows only.
  if (tile.most != INT64_MAX && shape.experts == 0)
    kernel.guards = {RangeAttr::get(op.getContext(), shape.rowDim->dim, 1, tile.most)};
  return kernel;
}

/// A kernel that may run, and its sizes.
struct Candidate {
  Plan plan;
  KernelVariant kernel;
};

/// The tiles to choose from, those for few tokens first; the last one takes any number.
llvm::SmallVector<Tile> tilesFor(llm::MatmulOp op, const MatmulShape &shape) {
  llvm::SmallVector<Tile> tiles(std::begin(kFewTokens), std::end(kFewTokens));
  if (isCrowded(shape)) {
    llvm::erase_if(tiles, [](const Tile &tile) { return tile.sums() > kFewSums; });
    tiles.push_back(kManyCrowded);
    return tiles;
  }
  tiles.push_back(kManyGrouped);
  if (shape.inputBytes == 1)
    tiles.push_back(kManyBytes);
  else if (groupOf(shape) == 0)
    tiles.push_back(kManyHalves);
  return tiles;
}

double secondsOf(const Candidate &candidate, const MatmulShape &shape,
                 const CudaArchitecture &architecture, int64_t tokens) {
  const Plan &plan = candidate.plan;
  const CudaPart &part = architecture.typicalPart();
  int64_t segments = segmentsOf(shape, segmentOf(plan, shape, architecture));
  int64_t shares = typicalShares(plan, shape, segments, architecture);
  const Tile &tile = plan.tile;
  MatmulWork work = {.rows = shape.rows * shape.reached(tokens),
                     .k = shape.k,
                     .tokens = shape.rowsEach(tokens),
                     .weightBits = double(bitsOf(shape.weight)),
                     .inputBits = double(8 * shape.inputBytes),
                     .type = productOf(shape, architecture),
                     .family = MmaFamily::MmaSync,
                     .tileRows = tile.rows(),
                     .tileTokens = tile.tokens(),
                     .depth = plan.depth,
                     .stages = plan.stages,
                     .warps = tile.along * tile.across,
                     .residents = plan.blocks,
                     .shares = shares,
                     .segments = segments,
                     .tokenGroup = tokenGroup(plan, shape, part)};
  WarpTile warp = {tile.rowTiles, tile.tokenBlocks, work.weightBits, work.inputBits,
                   plan.depth,    work.type,        work.family};
  work.instructions = double(tile.along * tile.across) * instructionsOf(warp);
  work.sharedBytes = double(tile.along * tile.across) * sharedBytesOf(warp);
  return matmulSeconds(part, work);
}

/// The best candidate for each number of rows up to `most`, as ranges without gaps. Near equals
/// keep what the range before has.
llvm::SmallVector<KernelVariant> chooseByRows(const MatmulShape &shape,
                                              const CudaArchitecture &architecture, int64_t most,
                                              llvm::ArrayRef<Candidate> candidates) {
  constexpr double kBetter = 0.97;
  llvm::SmallVector<std::pair<int64_t, size_t>> ends; // last row, candidate
  for (int64_t rows = 0; rows < most;) {
    int64_t next = std::min(most, rows + (rows < 64 ? kBlockTokens : 64));
    // Beyond this one waves are many and the choice is settled.
    if (rows >= kMostChosen)
      next = most;
    std::optional<size_t> best;
    int64_t each = shape.rowsEach(next);
    if (!ends.empty() && candidates[ends.back().second].plan.tile.most >= each)
      best = ends.back().second;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].plan.tile.most < each)
        continue;
      double margin = best ? kBetter : 1;
      if (!best || secondsOf(candidates[i], shape, architecture, next) <
                       margin * secondsOf(candidates[*best], shape, architecture, next))
        best = i;
    }
    if (!ends.empty() && ends.back().second == *best)
      ends.back().first = next;
    else
      ends.push_back({next, *best});
    rows = next;
  }
  llvm::SmallVector<KernelVariant> chosen;
  int64_t least = 1;
  for (auto [end, index] : ends) {
    KernelVariant kernel = candidates[index].kernel;
    MLIRContext *context = kernel.constants.getContext();
    llvm::StringRef dim = shape.rowDim->dim;
    if (end != most)
      kernel.ranges = {RangeAttr::get(context, dim, least, end)};
    chosen.push_back(std::move(kernel));
    least = end + 1;
  }
  return chosen;
}

} // namespace

LayoutAttr codegen::tensorLayout(llm::MatmulOp op, const MatmulShape &shape, unsigned operand) {
  std::optional<FragmentLayout> fragments = fragmentsOf(op, shape);
  Value value = op->getOperand(operand);
  auto type = cast<RankedTensorType>(value.getType());
  if (!fragments)
    return {};
  if (value == op.getWeight())
    return fragmentLayout(type, *fragments);
  llm::EncodedWeight weight = op.getEncodedWeight();
  if (!weight.hasRows(value))
    return {};
  if (value == weight.superScales)
    return fragmentSuperScales(type, partsOf(shape));
  bool codes =
      shape.scales == kBlockScales || (shape.scales == kTableScales && value == weight.scales);
  return codes ? fragmentCodes(type) : fragmentScales(type);
}

/// Whether tensor cores can form the product as its operands are stored.
static bool takesOperands(llm::MatmulOp op, const MatmulShape &shape) {
  if (!fragmentsOf(op, shape))
    return false;
  for (OpOperand &use : op->getOpOperands()) {
    Value operand = use.get();
    if (op.getEncodedWeight().roleOf(operand).empty())
      continue;
    unsigned index = use.getOperandNumber();
    auto type = cast<RankedTensorType>(operand.getType());
    LayoutAttr wanted = tensorLayout(op, shape, index);
    if (layoutOf(type) != (wanted ? wanted : rowMajorLayout(type)))
      return false; // a tied weight that another product has had packed
  }
  return true;
}

llvm::SmallVector<engine::SumsAttr> codegen::tensorSums(llm::MatmulOp op, const MatmulShape &shape,
                                                        const CudaArchitecture &architecture) {
  if (!takesOperands(op, shape))
    return {};
  // What suits the fewest tokens, since steps of those wait for each other's sums; all others have
  // the same.
  for (const Tile &tile : tilesFor(op, shape))
    if (std::optional<Plan> plan = planFor(op, shape, tile, architecture)) {
      int64_t segment = segmentFor(*plan, shape, architecture);
      engine::SumsAttr fixed = tensorOrder(op, shape, segment, architecture);
      if (fixed.getSegment() == 0)
        return {fixed};
      return {engine::SumsAttr::get(op.getContext(), fixed.getUnit(), fixed.getWidth(),
                                    fixed.getGroup(), -1),
              fixed};
    }
  return {};
}

void codegen::addTensorKernels(llm::MatmulOp op, const MatmulShape &shape,
                               const CudaArchitecture &architecture, int64_t most,
                               Kernels &kernels) {
  if (!takesOperands(op, shape))
    return;
  std::vector<Candidate> candidates;
  for (const Tile &tile : tilesFor(op, shape))
    if (std::optional<Plan> plan = planFor(op, shape, tile, architecture))
      candidates.push_back({*plan, tensorKernel(op, shape, *plan, architecture)});
  if (!candidates.empty() && candidates.back().plan.tile.most == INT64_MAX)
    llvm::append_range(kernels, chooseByRows(shape, architecture, most, candidates));
}

void codegen::addTensorCandidates(llm::MatmulOp op, const MatmulShape &shape,
                                  const CudaArchitecture &architecture, int64_t most,
                                  Kernels &kernels) {
  if (!takesOperands(op, shape))
    return;
  for (const Tile &tile : tilesFor(op, shape)) {
    for (const Plan &plan : plansFor(op, shape, tile, architecture))
      kernels.push_back(tensorKernel(op, shape, plan, architecture));
    // Larger tiles would be empty for the most part.
    if (tile.tokens() >= most)
      return;
  }
}
