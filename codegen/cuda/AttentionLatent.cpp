// SPDX-License-Identifier: Apache-2.0
// Which form of AttentionLatent runs, with how many rows, tiles and blocks.
#include "codegen/cuda/AttentionVariants.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "runtime/schema/Names.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::RangeAttr;

/// Row tiles of a block, at most: a thread of 256 has 128 sums then.
static constexpr int64_t kMostRowTiles = 4;
static constexpr int64_t kMostStages = 4;

namespace {

/// The sizes of an attention layer over latents, as AttentionLatent.cu has them.
struct Latent {
  explicit Latent(llm::AttentionOp op)
      : cache(op.getCache().getType()), headDim(cache.getHeadDim()), valueDim(cache.getValueDim()),
        heads(op.queryHeads()), rows(plainRowDimOf(op.getQuery()).value_or("")),
        sequences(plainRowDimOf(op.getBlockTable()).value_or("")),
        width(llm::launchScalars(op).front()) {}

  llm::KvType cache;
  int64_t headDim, valueDim, heads;
  std::string rows, sequences; ///< dims; empty for other expressions
  std::string width;           ///< the dim of the block table

  /// Parts of segments are of all rows of a block: with many rows, longer segments leave the
  /// memory to the cache.
  int64_t segment() const { return heads > kAttentionRows ? 1024 : 512; }
  int64_t tile() const { return headDim > 128 ? 32 : 64; }
  int64_t stageBytes() const {
    int64_t element = cache.hasScales() ? 1 : 2, unit = element * 16, row = headDim * element;
    bool padded = row % 128 != 0 && row / unit % 2 == 0;
    return tile() * ((padded ? row + unit : row) + (cache.hasScales() ? 4 : 0));
  }
  int64_t sharedBytes(int64_t rowTiles, int64_t stages) const {
    int64_t rows = rowTiles * kAttentionRows;
    return stages * stageBytes() + rows * headDim * 2 + rows * (tile() + 8) * 4;
  }
  /// Row tiles that the heads of one token fill.
  int64_t tokenTiles() const {
    return std::min<int64_t>(llvm::PowerOf2Ceil(llvm::divideCeil(heads, kAttentionRows)),
                             kMostRowTiles);
  }
  /// At most `wanted` row tiles, beside which shared memory has two tiles of the cache; 0 if none.
  int64_t rowTiles(const CudaArchitecture &architecture, int64_t wanted) const {
    while (wanted > 0 && sharedBytes(wanted, 2) > architecture.sharedPerBlock)
      wanted /= 2;
    return wanted;
  }
};

/// One form of the template.
struct Form {
  Form(const Latent &latent, const CudaArchitecture &architecture, int64_t rowTiles)
      : rowTiles(rowTiles) {
    // Two blocks, which hide each other's waits, where they have room for two tiles each.
    blocks = rowTiles == 1 && 2 * (latent.sharedBytes(1, 2) + kReservedShared) <=
                                  architecture.sharedPerMultiprocessor
                 ? 2
                 : 1;
    stages = kMostStages;
    while (stages > 2 && (latent.sharedBytes(rowTiles, stages) > architecture.sharedPerBlock ||
                          blocks * (latent.sharedBytes(rowTiles, stages) + kReservedShared) >
                              architecture.sharedPerMultiprocessor))
      --stages;
    heads = std::min(latent.heads, rowTiles * kAttentionRows);
    headBlocks = llvm::divideCeil(latent.heads, heads);
  }

  int64_t threads() const { return rowTiles == 1 ? 128 : 256; }

  int64_t rowTiles, stages, blocks;
  int64_t heads;      ///< of a token, that a block has
  int64_t headBlocks; ///< that share a token
};

} // namespace

const char *codegen::latentDeclined(llm::AttentionOp op, const CudaArchitecture &architecture) {
  Latent latent(op);
  if (op.getFp8())
    return "its cache is latent";
  if (op.getRotary() && cast<RankedTensorType>(op.getRotary().getType()).getElementType() !=
                            cast<RankedTensorType>(op.getQuery().getType()).getElementType())
    return "the query's parts differ in their type";
  if (latent.headDim % 16 != 0 || latent.valueDim % 16 != 0 || latent.headDim > 576)
    return "its head size";
  if (latent.rowTiles(architecture, 1) == 0)
    return "its tiles are larger than shared memory";
  return nullptr;
}

engine::SumsAttr codegen::latentSums(llm::AttentionOp op) {
  return engine::SumsAttr::get(op.getContext(), engine::SumUnit::Tensor, 16, 0,
                               Latent(op).segment(), /*parts=*/2);
}

static CudaVariant describeForm(llm::AttentionOp op, const CudaArchitecture &architecture,
                                const Form &form, int64_t tileTokens, bool split) {
  Latent latent(op);
  CudaVariant variant("AttentionLatent", op, form.threads());
  describeAttention(variant, op, latent.segment());
  variant.integer("latent", 1);
  variant.integer("split", split ? 1 : 0);
  variant.integer("row_tiles", form.rowTiles);
  variant.integer("tile_tokens", tileTokens);
  variant.integer("stages", form.stages);
  variant.shared(latent.sharedBytes(form.rowTiles, form.stages));
  variant.blocksPerMultiprocessor(form.blocks);
  variant.peak(architecture, ProductType::Halves);
  variant.expects("HMMA");
  variant.expects("LDGSTS");
  return variant;
}

/// Bytes of a segment's part of a token.
static int64_t partBytes(const Latent &latent, const Form &form) {
  return form.headBlocks * form.heads * (latent.valueDim + 2) * 4;
}

static KernelVariant splitKernel(llm::AttentionOp op, const CudaArchitecture &architecture,
                                 const Form &form, int64_t tokens) {
  Latent latent(op);
  CudaVariant variant = describeForm(op, architecture, form, 1, /*split=*/true);
  std::string blocks = std::to_string(form.headBlocks);
  std::string segments = segmentsOf(latent.cache, latent.width, latent.segment());
  variant.extent(segments + " min (" +
                 decodeSplit("(" + std::to_string(form.blocks) + " * sms)",
                             "(" + latent.rows + " * " + blocks + ")") +
                 ")");
  variant.extent(blocks);
  variant.extent(latent.rows);
  variant.workspace(std::to_string(engine::kCounterBytes) + " + (" + latent.rows + " min " +
                    std::to_string(tokens) + ") * " + segments + " * " +
                    std::to_string(partBytes(latent, form)));
  return variant.take();
}

static KernelVariant wholeKernel(llm::AttentionOp op, const CudaArchitecture &architecture,
                                 const Form &form) {
  Latent latent(op);
  int64_t tokens = std::max<int64_t>(form.rowTiles * kAttentionRows / form.heads, 1);
  CudaVariant variant = describeForm(op, architecture, form, tokens, /*split=*/false);
  std::string tiles = tokens == 1 ? latent.rows
                                  : "((" + latent.rows + " ceildiv " + std::to_string(tokens) +
                                        ") + " + latent.sequences + ")";
  std::string blocks = "((" + std::to_string(form.blocks) + " * sms) min (" + tiles + " * " +
                       std::to_string(form.headBlocks) + "))";
  variant.extent(blocks);
  // Beside its part of the rows' sums a thread has four more numbers.
  int64_t floats =
      form.rowTiles * kAttentionRows * llvm::alignTo(latent.valueDim, 64) + 4 * form.threads();
  variant.workspace(std::to_string(engine::kCounterBytes) + " + " + blocks + " * " +
                    std::to_string(floats * 4));
  return variant.take();
}

void codegen::addLatentKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                               llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  Latent latent(op);
  Builder builder(op.getContext());
  auto range = [&](llvm::StringRef dim, int64_t least, int64_t most) {
    return RangeAttr::get(op.getContext(), dim, least, most);
  };
  Form few(latent, architecture, latent.rowTiles(architecture, latent.tokenTiles()));
  Form many(latent, architecture, latent.rowTiles(architecture, kMostRowTiles));
  int64_t most = mostOf(declared, latent.rows), sequences = mostOf(declared, latent.sequences);
  int64_t segments = mostSegments(latent.cache, mostOf(declared, latent.width), latent.segment());
  const int64_t blocks = llvm::divideCeil(latent.heads, kAttentionRows); // of a token, at most
  int64_t split = std::min<int64_t>({kDecodeTokens, engine::kCounterBytes / 4 / blocks,
                                     kMostParts / (segments * partBytes(latent, few))});
  // Whether registers suffice depends on the compiler's version.
  auto isFallback = [&] {
    kernels.back().facts.push_back(
        builder.getNamedAttr(engine::kFallback, builder.getStringAttr("fewer rows")));
  };
  for (int64_t tiles = few.rowTiles; split >= 1 && tiles > 0; tiles /= 2) {
    kernels.push_back(splitKernel(op, architecture, Form(latent, architecture, tiles), split));
    kernels.back().guards = {range(latent.rows, 1, split)};
    if (most > split)
      kernels.back().ranges = kernels.back().guards;
    if (tiles < few.rowTiles)
      isFallback();
  }
  if (most <= split)
    return;
  // Tiles of several tokens are mostly empty where hardly any sequence has more than one: at most
  // three tokens for two sequences, as far as ranges can say so.
  if (few.rowTiles < many.rowTiles) {
    KernelVariant kernel = wholeKernel(op, architecture, few);
    for (int64_t least = std::max<int64_t>(split, 0) + 1; least <= std::min(most, sequences);) {
      int64_t last = least * 3 / 2;
      kernel.ranges = {range(latent.rows, least, last), range(latent.sequences, least, sequences)};
      kernels.push_back(kernel);
      least = last + 1;
    }
  }
  kernels.push_back(wholeKernel(op, architecture, many));
  for (int64_t tiles = many.rowTiles / 2; tiles > 0; tiles /= 2) {
    kernels.push_back(wholeKernel(op, architecture, Form(latent, architecture, tiles)));
    isFallback();
  }
}
