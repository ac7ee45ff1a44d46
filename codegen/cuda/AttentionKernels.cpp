// SPDX-License-Identifier: Apache-2.0
// Which attention template runs, with which constants, grid and memory.
#include "codegen/cuda/AttentionKernels.h"

#include "codegen/cuda/AttentionVariants.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "runtime/schema/Names.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::RangeAttr;

static constexpr int64_t kThreads = 128, kWarps = kThreads / 32;
static constexpr int64_t kRows = kAttentionRows;
static constexpr int64_t kSegment = 256; ///< positions that are summed alone
/// Tokens that have blocks of their own where hardly any sequence has more than one.
static constexpr int64_t kDecodeSequences = 256;
/// Columns of a head that threads have registers for.
static constexpr int64_t kLargestHead = 1024;
static constexpr const char *kLargeHeads = "its heads are too large";
/// Waves of blocks where there are more tokens and heads than blocks run at the same time.
static constexpr int64_t kDecodeWaves = 4;

namespace {

/// The sizes of an attention layer.
struct Shape {
  explicit Shape(llm::AttentionOp op)
      : cache(op.getCache().getType()), headDim(cache.getHeadDim()), queryHeads(op.queryHeads()),
        kvHeads(cache.getHeads()), group(queryHeads / kvHeads), fp8(op.getFp8()),
        rows(plainRowDimOf(op.getQuery()).value_or("")),
        sequences(plainRowDimOf(op.getBlockTable()).value_or("")),
        width(llm::launchScalars(op).front()) {}

  llm::KvType cache;
  int64_t headDim, queryHeads, kvHeads, group;
  bool fp8;
  std::string rows, sequences; ///< dims; empty for other expressions
  std::string width;           ///< the dim of the block table

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
  /// Bytes of a segment's part of all query heads of a block.
  int64_t partBytes() const { return std::min(group, kRows) * (headDim + 2) * 4; }

  int64_t decodeBytes(int64_t stages) const { return stages * stageBytes() + scoreBytes(); }
  /// Tiles that AttentionDecode holds: as many as let two blocks share a multiprocessor.
  int64_t decodeStages(const CudaArchitecture &architecture) const {
    constexpr int64_t kMost = 4;
    int64_t stages = kMost;
    while (stages > 2 && (decodeBlocks(architecture, stages) < 2 ||
                          decodeBytes(stages) > architecture.sharedPerBlock))
      --stages;
    return stages;
  }

  /// Blocks of AttentionDecode that a multiprocessor has room for.
  int64_t decodeBlocks(const CudaArchitecture &architecture, int64_t stages) const {
    return 2 * (decodeBytes(stages) + kReservedShared) <= architecture.sharedPerMultiprocessor ? 2
                                                                                               : 1;
  }

  /// AttentionContext with `rowWarps` warps that have rows of their own: tokens of a block, whose
  /// rows fill them; bytes of shared scores and of sums; shared memory.
  int64_t contextTokens(int64_t rowWarps) const { return rowWarps * kRows / group; }
  int64_t totalBytes(int64_t rowWarps) const {
    int64_t pairs = llvm::divideCeil(headDim / 16, kWarps / rowWarps);
    return (rowWarps == kWarps ? 0 : rowWarps * scoreBytes()) + pairs * 8 * kThreads * 4;
  }
  int64_t contextBytes(int64_t rowWarps) const {
    int64_t wide = contextTokens(rowWarps) * group > kRows ? totalBytes(rowWarps) : 0;
    int64_t narrow = group <= kRows ? totalBytes(1) : 0;
    return stageBytes() + rowWarps * kRows * headDim * 2 + std::max(wide, narrow);
  }
  /// As many row warps as registers and shared memory allow; 0 if no token fits.
  int64_t rowWarps(const CudaArchitecture &architecture) const {
    // 16 rows of all columns are headDim / 2 sums of a lane: 128 of them spill.
    for (int64_t warps = headDim > 128 ? kWarps / 2 : kWarps; warps > 0; warps /= 2)
      if (contextTokens(warps) > 0 && contextBytes(warps) <= architecture.sharedPerBlock)
        return warps;
    return 0;
  }
};

} // namespace

void codegen::describeAttention(CudaVariant &variant, llm::AttentionOp op, int64_t segment) {
  variant.attention(op);
  variant.integer("value_dim", op.getCache().getType().getValueDim());
  variant.integer("fp8", op.getFp8() ? 1 : 0);
  variant.integer("segment", segment);
}

static KernelVariant scalarKernel(llm::AttentionOp op) {
  CudaVariant variant("AttentionScalar", op, kThreads);
  describeAttention(variant, op, kSegment);
  variant.rowsOf(op.getResult());
  variant.tiles(Shape(op).queryHeads);
  return variant.take();
}

/// Tokens that AttentionDecode takes: at any time (`few`), and (`many`) where almost every token is
/// of a sequence of its own. Counters and the memory of parts must suffice.
struct DecodeTokens {
  DecodeTokens(const Shape &shape, llvm::ArrayRef<RangeAttr> declared) {
    int64_t heads = shape.kvHeads * shape.headBlocks();
    int64_t counters = engine::kCounterBytes / 4 / heads;
    int64_t segments = mostSegments(shape.cache, mostOf(declared, shape.width), kSegment);
    int64_t parts = kMostParts / (heads * segments * shape.partBytes());
    few = std::min(kDecodeTokens, counters);
    bool hasMany = mostOf(declared, shape.sequences) > few;
    many = hasMany ? std::max(few, std::min({kDecodeSequences, counters, parts})) : few;
  }
  int64_t few, many;
};

std::string codegen::segmentsOf(llm::KvType cache, const std::string &width, int64_t segment) {
  return "((" + width + " * " + std::to_string(cache.getBlockTokens()) + ") ceildiv " +
         std::to_string(segment) + ")";
}

int64_t codegen::mostSegments(llm::KvType cache, int64_t width, int64_t segment) {
  int64_t blocks = std::min(width, INT32_MAX / cache.getBlockTokens());
  return llvm::divideCeil(blocks * cache.getBlockTokens(), segment);
}

std::string codegen::decodeSplit(const std::string &places, const std::string &works) {
  std::string one = "(" + places + " floordiv " + works + ")";
  std::string waves = std::to_string(kDecodeWaves);
  std::string some = "((" + waves + " * " + places + ") floordiv " + works + ")";
  // Nothing where one wave has them all, and fewer than kDecodeWaves else.
  std::string none = "(" + waves + " - " + waves + " * (" + one + " min 1))";
  return one + " max (" + some + " min " + none + ") max 1";
}

static KernelVariant decodeKernel(llm::AttentionOp op, const CudaArchitecture &architecture,
                                  const DecodeTokens &tokens) {
  Shape shape(op);
  int64_t stages = shape.decodeStages(architecture);
  std::string heads = std::to_string(shape.kvHeads * shape.headBlocks());
  std::string segments = segmentsOf(shape.cache, shape.width, kSegment);
  CudaVariant variant("AttentionDecode", op, kThreads);
  describeAttention(variant, op, kSegment);
  variant.integer("stages", stages);
  variant.shared(shape.decodeBytes(stages));
  variant.extent(
      segments + " min (" +
      decodeSplit("(" + std::to_string(shape.decodeBlocks(architecture, stages)) + " * sms)",
                  "(" + shape.rows + " * " + heads + ")") +
      ")");
  variant.extent(heads);
  variant.extent(shape.rows);
  variant.workspace(std::to_string(engine::kCounterBytes) + " + (" + shape.rows + " min " +
                    std::to_string(tokens.many) + ") * " + heads + " * " + segments + " * " +
                    std::to_string(shape.partBytes()));
  // Registers for two blocks: without a bound the assembler spills a few for the sake of more.
  variant.blocksPerMultiprocessor(2);
  variant.peak(architecture, op.getFp8() ? ProductType::Float8 : ProductType::Halves);
  variant.expects(op.getFp8() ? "QMMA" : "HMMA");
  variant.expects("LDGSTS");
  return variant.take();
}

static KernelVariant contextKernel(llm::AttentionOp op, const CudaArchitecture &architecture,
                                   int64_t rowWarps) {
  Shape shape(op);
  int64_t bytes = shape.contextBytes(rowWarps);
  int64_t tokens = shape.contextTokens(rowWarps);
  CudaVariant variant("AttentionContext", op, kThreads);
  describeAttention(variant, op, kSegment);
  variant.integer("tile_tokens", tokens);
  variant.integer("row_warps", rowWarps);
  variant.shared(bytes);
  variant.extent("(" + shape.rows + " ceildiv " + std::to_string(tokens) + ") + " +
                 shape.sequences);
  variant.tiles(shape.kvHeads);
  variant.workspace(std::to_string(engine::kCounterBytes));
  // Registers for two blocks: without a bound the assembler spills a few for the sake of more.
  variant.blocksPerMultiprocessor(2);
  variant.peak(architecture, op.getFp8() ? ProductType::Float8 : ProductType::Halves);
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
  if (shape.rows.empty() || shape.sequences.empty())
    return "its rows and sequences are not dims";
  if (shape.cache.getLatent())
    return latentDeclined(op, architecture);
  if (shape.headDim % 16 != 0 || shape.headDim > 256)
    return "its head size";
  if (shape.group > kWarps * kRows)
    return "too many query heads share a KV head";
  if (shape.decodeBytes(2) > architecture.sharedPerBlock || shape.rowWarps(architecture) == 0)
    return "its tiles are larger than shared memory";
  return nullptr;
}

/// The order of AttentionLanes.cuh.
static engine::SumsAttr laneSums(MLIRContext *context) {
  return engine::SumsAttr::get(context, engine::SumUnit::Lanes, 1, 0, kSegment);
}

engine::SumsAttr codegen::attentionSums(llm::EncoderAttentionOp op) {
  return laneSums(op.getContext());
}

engine::SumsAttr codegen::attentionSums(llm::AttentionOp op, const CudaArchitecture &architecture) {
  using engine::SumUnit;
  if (tensorCoresDecline(op, architecture))
    return laneSums(op.getContext());
  if (op.getCache().getType().getLatent())
    return latentSums(op);
  return op.getFp8() ? engine::SumsAttr::get(op.getContext(), SumUnit::Tensor, 32, 0, kSegment)
                     : engine::SumsAttr::get(op.getContext(), SumUnit::Tensor, 16, 0, kSegment,
                                             /*parts=*/2);
}

Declined codegen::fp8AttentionDeclined(llm::AttentionOp op, const CudaArchitecture &architecture) {
  if (!architecture.hasFp8Products())
    return "the architecture has no FP8 products of mma.sync";
  if (const char *reason = tensorCoresDecline(op, architecture))
    return std::string("tensor cores cannot take it: ") + reason;
  return std::nullopt;
}

static Declined addKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                           llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  if (op.getCache().getType().getHeadDim() > kLargestHead)
    return kLargeHeads;
  if (!op.getCache().getType().isUniform() && !op.getCache().getType().getLatent())
    return kOtherWidths;
  if (op.getFp8())
    if (Declined reason = fp8AttentionDeclined(op, architecture))
      return reason;
  if (tensorCoresDecline(op, architecture)) {
    kernels.push_back(scalarKernel(op));
    return std::nullopt;
  }
  Shape shape(op);
  if (shape.cache.getLatent()) {
    addLatentKernels(op, architecture, declared, kernels);
    return std::nullopt;
  }
  int64_t most = mostOf(declared, shape.rows);
  DecodeTokens tokens(shape, declared);
  auto range = [&](llvm::StringRef dim, int64_t least, int64_t most) {
    return RangeAttr::get(op.getContext(), dim, least, most);
  };
  if (tokens.few >= 1) {
    KernelVariant kernel = decodeKernel(op, architecture, tokens);
    kernel.guards = {range(shape.rows, 1, tokens.many)};
    if (most > tokens.few)
      kernel.ranges = {range(shape.rows, 1, tokens.few)};
    kernels.push_back(kernel);
    // At most three tokens for two sequences, as far as ranges can say so.
    int64_t sequences = mostOf(declared, shape.sequences);
    for (int64_t least = tokens.few + 1; least <= std::min({tokens.many, most, sequences});) {
      int64_t last = std::min(least * 3 / 2, tokens.many);
      kernel.ranges = {range(shape.rows, least, last), range(shape.sequences, least, sequences)};
      kernels.push_back(kernel);
      least = last + 1;
    }
  }
  if (most > tokens.few) {
    int64_t warps = shape.rowWarps(architecture);
    kernels.push_back(contextKernel(op, architecture, warps));
    // Whether registers suffice depends on the compiler's version; with fewer rows each warp has
    // fewer sums.
    Builder builder(op.getContext());
    while ((warps /= 2) > 0 && shape.contextTokens(warps) > 0) {
      kernels.push_back(contextKernel(op, architecture, warps));
      kernels.back().facts.push_back(
          builder.getNamedAttr(engine::kFallback, builder.getStringAttr("fewer rows")));
    }
  }
  return std::nullopt;
}

Declined codegen::addAttentionKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                                      llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  if (op.getSelected())
    return "it attends to all positions, and to none that are chosen (index_topk)";
  size_t before = kernels.size();
  Declined declined = addKernels(op, architecture, declared, kernels);
  for (KernelVariant &kernel : llvm::MutableArrayRef(kernels).drop_front(before))
    kernel.sums = attentionSums(op, architecture);
  return declined;
}

Declined codegen::addAttentionKernels(llm::EncoderAttentionOp op, Kernels &kernels) {
  if (std::max(op.keyDim(), op.valueDim()) > kLargestHead)
    return kLargeHeads;
  CudaVariant variant("EncoderAttention", op, kThreads);
  variant.encoderAttention(op);
  variant.integer("segment", kSegment);
  variant.rowsOf(op.getResult());
  variant.tiles(op.queryHeads());
  kernels.push_back(variant.take());
  kernels.back().sums = attentionSums(op);
  return std::nullopt;
}
