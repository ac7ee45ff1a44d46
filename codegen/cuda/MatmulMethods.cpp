// SPDX-License-Identifier: Apache-2.0
// Which products tensor cores form, by which method, in which layouts, and the kernels for each
// number of tokens.
#include "codegen/cuda/MatmulMethods.h"

#include "codegen/BuildCache.h"
#include "codegen/cuda/CudaTemplates.h"
#include "codegen/cuda/MatmulCost.h"
#include "dialects/llm/LlmMatmulOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::LayoutAttr;
using engine::RangeAttr;

namespace {

/// Numbers of tokens up to which the cost model chooses.
constexpr int64_t kMostChosen = 4096;
/// Of dynamic shared memory.
constexpr int64_t kDynamicAlignment = 128;

/// Those that form the product on the architecture, the best first: of the order of sums that the
/// operation has, if it has one.
llvm::SmallVector<const MatmulMethod *, 2> methodsFor(llm::MatmulOp op, const MatmulShape &shape,
                                                      const CudaArchitecture &architecture) {
  llvm::SmallVector<const MatmulMethod *, 2> methods;
  for (const MatmulMethod *method : {&kGroupMethod, &kTensorMethod})
    if (method->takes(shape, architecture) &&
        (shape.integer || !op.getSums() || op.getSums()->getUnit() == method->unit))
      methods.push_back(method);
  return methods;
}

/// Where numbers join f32 sums, of the kernels with segments of `columns` columns.
engine::SumsAttr orderOf(llm::MatmulOp op, const MatmulShape &shape, const MatmulMethod &method,
                         int64_t columns, const CudaArchitecture &architecture) {
  return sumsOf(op, shape, method.unit, method.width(shape, architecture), groupOf(shape), columns);
}

/// Whether one tile of tokens reads the weight: a tile for few tokens takes all of them, and those
/// of an expert with few exceptions.
bool readsOnce(const Tile &tile) { return tile.most != INT64_MAX; }

KernelVariant tensorKernel(llm::MatmulOp op, const MatmulShape &shape, const MatmulMethod &method,
                           const Plan &plan, const CudaArchitecture &architecture) {
  const Tile &tile = plan.tile;
  CudaVariant variant(method.source, op, tile.threads() + tile.producers);
  variant.integer("producer_threads", tile.producers);
  variant.integer("from_shared", tile.fromShared);
  int64_t segment = segmentOf(plan, shape, architecture), segments = segmentsOf(shape, segment);
  describeMatmul(variant, op, shape, segment);
  variant.integer("group", plan.group);
  variant.integer("warps_along", tile.along);
  variant.integer("warps_across", tile.across);
  variant.integer("row_tiles", tile.rowTiles);
  variant.integer("token_blocks", tile.tokenBlocks);
  variant.integer("tile_depth", plan.depth);
  variant.integer("stages", plan.stages);
  variant.integer("input_alignment", method.needs.inputAlignment);
  variant.shared(plan.shared + (method.needs.inputAlignment > kDynamicAlignment
                                    ? method.needs.inputAlignment
                                    : 0));
  int64_t sharing = sharingBlocks(plan, shape, segments, architecture);
  int64_t clustered = clusterBlocks(tile, shape, segments, architecture);
  bool shares = sharing > 0 || clustered > 1;
  variant.integer("shares_depth", shares);
  variant.integer("weights_once", readsOnce(tile));
  variant.integer("token_group", tokenGroup(plan, shape, architecture.typicalPart()));
  ProductType type = method.product(shape, architecture);
  variant.integer("float8_products", type == ProductType::Float8);
  variant.peak(architecture, type);
  method.describe(variant, shape, plan, architecture);
  if (tile.producers == 0)
    variant.expects("LDGSTS");
  if (architecture.hasTensorCopies()) {
    variant.expects("UTMALDG");
    addTensorMaps(variant, op, shape, plan);
  }
  int64_t tiles = llvm::divideCeil(shape.rows, tile.rows());
  addRowTiles(variant, op, tile.tokens());
  variant.tiles(tiles);
  if (clustered > 1) {
    variant.extent(std::to_string(clustered));
    variant.cluster({1, 1, clustered});
  } else if (shares)
    variant.extent((llvm::Twine(sharing) + " * sms floordiv " + llvm::Twine(tiles) + " max 1 min " +
                    llvm::Twine(segments))
                       .str());
  int64_t aside = tiles * segments * tile.threads() * tile.sums() * 4;
  std::string madeFrom = CacheKey().add(cudaTemplateText((method.source + ".cu").str())).text();
  variant.candidate(method.source + ":" + llvm::Twine(tile.along) + "x" + llvm::Twine(tile.across) +
                        "x" + llvm::Twine(tile.rowTiles) + "x" + llvm::Twine(tile.tokenBlocks) +
                        ",d" + llvm::Twine(plan.depth) + ",s" + llvm::Twine(plan.stages) +
                        (clustered > 1 ? ",c"
                         : shares      ? ",k"
                                       : ""),
                    madeFrom);
  // Kernels that share take one tile of tokens (their guard), whatever T the memory is planned for.
  variant.workspace(llvm::Twine(engine::kCounterBytes + (sharing > 0 ? aside : 0)).str());
  KernelVariant kernel = variant.take();
  kernel.sums = orderOf(op, shape, method, segment, architecture);
  // Sums on their way have places for these rows only.
  if (tile.most != INT64_MAX && shape.experts == 0)
    kernel.guards = {RangeAttr::get(op.getContext(), shape.rowDim->dim, 1, tile.most)};
  return kernel;
}

/// A kernel that may run, and its sizes.
struct Candidate {
  const MatmulMethod *method;
  Plan plan;
  KernelVariant kernel;
};

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
                     .type = candidate.method->product(shape, architecture),
                     .family = tile.fromShared ? MmaFamily::WgmmaShared : candidate.method->family,
                     .tileRows = tile.rows(),
                     .tileTokens = tile.tokens(),
                     .depth = plan.depth,
                     .stages = plan.stages,
                     .warps = tile.along * tile.across,
                     .residents = plan.blocks,
                     .shares = shares,
                     .segments = segments,
                     .clustered = plan.tile.sharing == Sharing::Cluster,
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
    // A larger tile would be empty for the most part, which the model does not tell.
    bool few = llvm::any_of(candidates, [&](const Candidate &candidate) {
      return candidate.plan.tile.most >= each && readsOnce(candidate.plan.tile);
    });
    if (!ends.empty() && candidates[ends.back().second].plan.tile.most >= each)
      best = ends.back().second;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Tile &tile = candidates[i].plan.tile;
      if (tile.most < each || (few && !readsOnce(tile)))
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
  llvm::SmallVector<engine::SumsAttr> orders;
  if (!takesOperands(op, shape))
    return orders;
  for (const MatmulMethod *method : methodsFor(op, shape, architecture))
    // What suits the fewest tokens, since steps of those wait for each other's sums; all others
    // have the same.
    for (const Tile &tile : method->tiles(shape))
      if (std::optional<Plan> plan = planFor(op, shape, tile, method->needs, architecture)) {
        int64_t segment = segmentOf(*plan, shape, architecture);
        engine::SumsAttr fixed = orderOf(op, shape, *method, segment, architecture);
        if (fixed.getSegment() != 0)
          orders.push_back(engine::SumsAttr::get(op.getContext(), fixed.getUnit(), fixed.getWidth(),
                                                 fixed.getGroup(), -1));
        orders.push_back(fixed);
        break;
      }
  return orders;
}

void codegen::addTensorKernels(llm::MatmulOp op, const MatmulShape &shape,
                               const CudaArchitecture &architecture, int64_t most,
                               Kernels &kernels) {
  if (!takesOperands(op, shape))
    return;
  for (const MatmulMethod *method : methodsFor(op, shape, architecture)) {
    std::vector<Candidate> candidates;
    for (const Tile &tile : method->tiles(shape))
      if (std::optional<Plan> plan = planFor(op, shape, tile, method->needs, architecture))
        candidates.push_back(
            {method, *plan, tensorKernel(op, shape, *method, *plan, architecture)});
    if (candidates.empty() || candidates.back().plan.tile.most != INT64_MAX)
      continue;
    llvm::append_range(kernels, chooseByRows(shape, architecture, most, candidates));
    return;
  }
}

void codegen::addTensorCandidates(llm::MatmulOp op, const MatmulShape &shape,
                                  const CudaArchitecture &architecture, int64_t most,
                                  Kernels &kernels) {
  if (!takesOperands(op, shape))
    return;
  for (const MatmulMethod *method : methodsFor(op, shape, architecture)) {
    for (const Tile &tile : method->tiles(shape)) {
      for (const Plan &plan : plansFor(op, shape, tile, method->needs, architecture))
        kernels.push_back(tensorKernel(op, shape, *method, plan, architecture));
      // Larger tiles would be empty for the most part.
      if (tile.tokens() >= most)
        return;
    }
    return;
  }
}
