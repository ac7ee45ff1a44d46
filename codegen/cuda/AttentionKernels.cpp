// SPDX-License-Identifier: Apache-2.0
// Which attention template runs, with which constants, grid and memory.
#include "codegen/cuda/AttentionKernels.h"

#include "codegen/cuda/CudaVariant.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::RangeAttr;

static constexpr int64_t kThreads = 128;
/// Rows of a product, and of all warps of a block.
static constexpr int64_t kRows = 16, kTileRows = 64;
static constexpr int64_t kSegment = 256;
/// Up to this many tokens each has blocks of its own, which share its segments.
static constexpr int64_t kDecodeTokens = 64;
/// Blocks of a multiprocessor that decoding is spread over.
static constexpr int64_t kDecodeBlocks = 4;

namespace {

/// The sizes of an attention layer.
struct Shape {
  explicit Shape(llm::AttentionOp op)
      : cache(op.getCache().getType()), headDim(cache.getHeadDim()),
        queryHeads(llm::columnsOf(op.getQuery()) / headDim), kvHeads(cache.getHeads()),
        group(queryHeads / kvHeads), fp8(op.getFp8()) {}

  llm::KvType cache;
  int64_t headDim, queryHeads, kvHeads, group;
  bool fp8;

  int64_t elementBytes() const { return cache.hasScales() ? 1 : 2; }
  /// Blocks of 16 query heads that a KV head has.
  int64_t headBlocks() const { return llvm::divideCeil(group, kRows); }

  // Sizes in shared memory, as AttentionTile.cuh has them.
  int64_t tile() const { return headDim > 128 ? 32 : 64; }
  int64_t keyBytes() const {
    int64_t unit = elementBytes() * (fp8 ? 32 : 16), row = headDim * elementBytes();
    return tile() * (row / unit % 2 == 0 ? row + unit : row);
  }
  int64_t valueBytes() const { return tile() * (headDim * elementBytes() + 16); }
  int64_t scaleBytes() const { return cache.hasScales() ? tile() * 4 : 0; }
  int64_t stageBytes() const { return keyBytes() + valueBytes() + 2 * scaleBytes(); }
  int64_t scoreBytes() const { return kRows * (tile() + 8) * 4; }
  /// Bytes of the sums of all threads, over `warps` of which the head's columns are divided.
  int64_t sumBytes(int64_t warps) const {
    return int64_t(llvm::divideCeil(headDim / 16, warps)) * 8 * kThreads * 4;
  }

  /// Tokens of a block of AttentionContext: their rows fill the block, or one product.
  int64_t tileTokens() const { return (headDim > 128 ? kRows : kTileRows) / group; }

  int64_t decodeBytes(int64_t stages) const { return stages * stageBytes() + scoreBytes(); }
  /// Tiles that AttentionDecode holds: as many as let two blocks share a multiprocessor.
  int64_t decodeStages(const CudaArchitecture &architecture) const {
    constexpr int64_t kMost = 4, kReserved = 1024;
    int64_t stages = kMost;
    while (stages > 2 &&
           (2 * (decodeBytes(stages) + kReserved) > architecture.sharedPerMultiprocessor ||
            decodeBytes(stages) > architecture.sharedPerBlock))
      --stages;
    return stages;
  }
  int64_t contextBytes() const {
    int64_t wide = tileTokens() * group > kRows ? sumBytes(1) : 0;
    int64_t narrow = group <= kRows ? scoreBytes() + sumBytes(kThreads / 32) : 0;
    return stageBytes() + kTileRows * headDim * 2 + std::max(wide, narrow);
  }
};

} // namespace

/// The constants that all attention templates share.
static void describe(CudaVariant &variant, llm::AttentionOp op) {
  Shape shape(op);
  variant.cache(shape.cache);
  variant.integer("query_heads", shape.queryHeads);
  variant.type("query_type", op.getQuery());
  variant.type("result_type", op.getResult());
  variant.real("scale", op.getScale());
  variant.integer("fp8", op.getFp8() ? 1 : 0);
}

static KernelVariant scalarKernel(llm::AttentionOp op) {
  CudaVariant variant("AttentionScalar", op, kThreads);
  describe(variant, op);
  variant.rowsOf(op.getResult());
  variant.tiles(Shape(op).queryHeads);
  return variant.take();
}

/// Tokens that the counters of AttentionDecode suffice for.
static int64_t decodeTokens(const Shape &shape) {
  int64_t counters = engine::kCounterBytes / 4;
  return std::min(kDecodeTokens, counters / (shape.kvHeads * shape.headBlocks()));
}

static KernelVariant decodeKernel(llm::AttentionOp op, const CudaArchitecture &architecture) {
  Shape shape(op);
  int64_t stages = shape.decodeStages(architecture);
  std::string heads = std::to_string(shape.kvHeads * shape.headBlocks());
  std::string segments = "((B * " + std::to_string(shape.cache.getBlockTokens()) + ") ceildiv " +
                         std::to_string(kSegment) + ")";
  int64_t partBytes = std::min(shape.group, kRows) * (shape.headDim + 2) * 4;
  CudaVariant variant("AttentionDecode", op, kThreads);
  describe(variant, op);
  variant.integer("stages", stages);
  variant.integer("shared_bytes", shape.decodeBytes(stages));
  variant.shared(shape.decodeBytes(stages));
  variant.extent(segments + " min ((" + std::to_string(kDecodeBlocks) + " * sms) ceildiv (T * " +
                 heads + "))");
  variant.extent(heads);
  variant.extent("T");
  variant.workspace(std::to_string(engine::kCounterBytes) + " + (T min " +
                    std::to_string(decodeTokens(shape)) + ") * " + heads + " * " + segments +
                    " * " + std::to_string(partBytes));
  // Registers for two blocks: without a bound the assembler spills a few for the sake of more.
  variant.blocksPerMultiprocessor(2);
  variant.peak(architecture, op.getFp8() ? 1 : 2);
  variant.expects(op.getFp8() ? "QMMA" : "HMMA");
  variant.expects("LDGSTS");
  return variant.take();
}

static KernelVariant contextKernel(llm::AttentionOp op, const CudaArchitecture &architecture) {
  Shape shape(op);
  CudaVariant variant("AttentionContext", op, kThreads);
  describe(variant, op);
  variant.integer("tile_tokens", shape.tileTokens());
  variant.integer("shared_bytes", shape.contextBytes());
  variant.shared(shape.contextBytes());
  variant.extent("(T ceildiv " + std::to_string(shape.tileTokens()) + ") + S");
  variant.tiles(shape.kvHeads);
  variant.workspace(std::to_string(engine::kCounterBytes));
  // Registers for two blocks: without a bound the assembler spills a few for the sake of more.
  variant.blocksPerMultiprocessor(2);
  variant.peak(architecture, op.getFp8() ? 1 : 2);
  variant.expects(op.getFp8() ? "QMMA" : "HMMA");
  variant.expects("LDGSTS");
  return variant.take();
}

/// Why the tensor cores cannot take `op`, which is computed in f32 then; null if they can.
static const char *tensorCoresDecline(llm::AttentionOp op, const CudaArchitecture &architecture) {
  Shape shape(op);
  Type query = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
  if (query.isF32())
    return "the query is f32";
  if (!shape.cache.hasScales() && shape.cache.getElement() != query)
    return "query and cache differ in their type";
  if (shape.headDim % 16 != 0 || shape.headDim > 256)
    return "its head size";
  if (shape.tileTokens() < 1)
    return "too many query heads share a KV head";
  if (std::max(shape.decodeBytes(2), shape.contextBytes()) > architecture.sharedPerBlock)
    return "its tiles are larger than shared memory";
  if (llm::rowsOf(cast<RankedTensorType>(op.getQuery().getType())).getText() != "T")
    return "its rows are not the dim T";
  return nullptr;
}

Declined codegen::fp8AttentionDeclined(llm::AttentionOp op, const CudaArchitecture &architecture) {
  if (!architecture.hasFp8Products())
    return "the architecture has no FP8 products of mma.sync";
  if (const char *reason = tensorCoresDecline(op, architecture))
    return std::string("tensor cores cannot take it: ") + reason;
  return std::nullopt;
}

Declined codegen::addAttentionKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                                      llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  if (op.getCache().getType().getHeadDim() > 1024)
    return "its heads are too large";
  if (op.getFp8())
    if (Declined reason = fp8AttentionDeclined(op, architecture))
      return reason;
  if (tensorCoresDecline(op, architecture)) {
    kernels.push_back(scalarKernel(op));
    return std::nullopt;
  }
  const auto *range = llvm::find_if(declared, [](RangeAttr one) { return one.getDim() == "T"; });
  int64_t most = range == declared.end() ? INT64_MAX : range->getMax();
  int64_t few = decodeTokens(Shape(op));
  if (few >= 1) {
    KernelVariant kernel = decodeKernel(op, architecture);
    kernel.guards = {RangeAttr::get(op.getContext(), "T", 1, few)};
    if (most > few)
      kernel.ranges = kernel.guards;
    kernels.push_back(std::move(kernel));
  }
  if (most > few)
    kernels.push_back(contextKernel(op, architecture));
  return std::nullopt;
}
