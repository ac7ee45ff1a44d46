// SPDX-License-Identifier: Apache-2.0
// Constants, grids and blocks of the row-wise templates.
#include "codegen/cuda/RowKernels.h"

#include "codegen/cuda/CudaVariant.h"
#include "codegen/cuda/MatmulLayout.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmStateOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::LayoutAttr;
using engine::RangeAttr;

/// Operands that the Pointwise template passes on.
constexpr size_t kPointwiseOperands = 6;
constexpr int64_t kWarpSize = 32;
/// Up to this many tokens the heads of one are spread over blocks.
constexpr int64_t kFewTokens = 64;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Elements that a thread of Rows.cuh moves at once; at most `widest`.
static int64_t vectorWidth(int64_t columns, int64_t widest = 8) {
  while (columns % widest != 0)
    widest /= 2;
  return widest;
}

/// Threads for `work` items: whole warps, at most `most`.
static int64_t threadsFor(int64_t work, int64_t most) {
  return std::min<int64_t>(llvm::alignTo(std::max<int64_t>(work, 1), kWarpSize), most);
}

//===- llm.embed ----------------------------------------------------------------------------===//

static Declined addKernels(llm::EmbedOp op, Kernels &kernels) {
  int64_t columns = llm::columnsOf(op.getTable());
  llm::EncodedWeight table = op.getEncodedWeight();
  bool rowMajor = isRowMajor(op.getTable().getType());
  int64_t items = rowMajor ? columns / vectorWidth(columns) : columns;
  int64_t threads = threadsFor(items, 128);
  CudaVariant variant("Embed", op, threads);
  variant.integer("table_rows", op.getTable().getType().getDimSize(0));
  variant.integer("columns", columns);
  variant.integer("row_major", rowMajor ? 1 : 0);
  variant.weight(table);
  variant.integer("group", table.facts().group);
  variant.type("result_type", op.getResult());
  if (!addLayouts(variant, table))
    return "a layout of the table has too many digits";
  variant.rowsOf(op.getResult());
  variant.tiles(llvm::divideCeil(items, threads));
  kernels.push_back(variant.take());
  return std::nullopt;
}

//===- Norm, point-wise, rounding, moving ---------------------------------------------------===//

/// Columns of a norm that a thread holds; a warp's are a segment.
static constexpr int64_t kNormColumns = 8, kNormSegment = kNormColumns * kWarpSize;

engine::SumsAttr codegen::rowOperationSums(Operation *op) {
  if (auto combine = dyn_cast<llm::CombineOp>(op))
    return rowSums(combine);
  if (!isa<llm::NormOp>(op))
    return {};
  return engine::SumsAttr::get(op->getContext(), engine::SumUnit::Lanes, kNormColumns, 0,
                               kNormSegment);
}

static Declined addKernels(llm::NormOp op, Kernels &kernels) {
  constexpr int64_t kMostWarps = 16, kMostRounds = 10;
  int64_t segments = llvm::divideCeil(op.normedColumns(), kNormSegment);
  int64_t rounds = llvm::divideCeil(segments, kMostWarps);
  if (rounds > kMostRounds)
    return "its rows are too long";
  if (op.getScales() && llm::columnsOf(op.getScales()) > 1)
    return kInputGroups;
  CudaVariant variant("Norm", op, llvm::divideCeil(segments, rounds) * kWarpSize);
  variant.norm(op);
  variant.integer("lane_columns", kNormColumns);
  kernels.push_back(variant.take());
  kernels.back().sums = rowOperationSums(op);
  return std::nullopt;
}

/// llm.pointwise and, as the identity of one operand, llm.round.
static Declined addPointwise(Operation *op, ValueRange inputs, Value result, Kernels &kernels) {
  if (inputs.size() > kPointwiseOperands)
    return ("it takes at most " + llvm::Twine(kPointwiseOperands) + " operands").str();
  int64_t columns = llm::columnsOf(result);
  int64_t vectors = columns / vectorWidth(columns, 4);
  int64_t threads = threadsFor(vectors, 256);
  CudaVariant variant("Pointwise", op, threads);
  variant.integer("columns", columns);
  variant.type("result_type", result);
  variant.regionOperands(inputs, result, kPointwiseOperands);
  variant.rowsOf(result);
  variant.tiles(llvm::divideCeil(vectors, threads));
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::PointwiseOp op, Kernels &kernels) {
  return addPointwise(op, op.getInputs(), op.getResult(), kernels);
}

static Declined addKernels(llm::RoundOp op, Kernels &kernels) {
  return addPointwise(op, op->getOperands(), op.getResult(), kernels);
}

static Declined addKernels(llm::QuantizeActivationOp op, Kernels &kernels) {
  if (llm::columnsOf(op.getScales()) > 1)
    return kInputGroups;
  int64_t columns = llm::columnsOf(op.getInput());
  CudaVariant variant("QuantizeActivation", op, threadsFor(columns / vectorWidth(columns), 512));
  variant.integer("columns", columns);
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  variant.integer("static_scale", op.getStaticScale() ? 1 : 0);
  variant.rowsOf(op.getResult());
  kernels.push_back(variant.take());
  return std::nullopt;
}

/// Copies rows of `input` from byte `first` on.
static Declined addCopy(Operation *op, Value input, Value result, int64_t first, bool gather,
                        Kernels &kernels) {
  if (typeOf(input).getElementType() != typeOf(result).getElementType())
    return "it does not change the element type";
  constexpr int64_t kPieceBytes = 16;
  int64_t element = engine::elementBits(typeOf(input).getElementType()) / 8;
  int64_t bytes = llm::columnsOf(result) * element;
  int64_t threads = threadsFor(llvm::divideCeil(bytes, kPieceBytes), 256);
  CudaVariant variant("CopyRows", op, threads);
  variant.integer("input_row_bytes", llm::columnsOf(input) * element);
  variant.integer("first_byte", first * element);
  variant.integer("result_row_bytes", bytes);
  variant.integer("gather", gather ? 1 : 0);
  variant.rowsOf(result);
  variant.tiles(llvm::divideCeil(bytes, threads * kPieceBytes));
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::SliceColumnsOp op, Kernels &kernels) {
  return addCopy(op, op.getInput(), op.getResult(), op.getFirst(), /*gather=*/false, kernels);
}

static Declined addKernels(llm::GatherRowsOp op, Kernels &kernels) {
  return addCopy(op, op.getInput(), op.getResult(), 0, /*gather=*/true, kernels);
}

static Declined addKernels(llm::PlaceRowsOp op, Kernels &kernels) {
  int64_t columns = llm::columnsOf(op.getRows());
  int64_t vectors = columns / vectorWidth(columns, 4);
  int64_t threads = threadsFor(vectors, 256);
  CudaVariant variant("PlaceRows", op, threads);
  variant.integer("columns", columns);
  variant.type("rows_type", op.getRows());
  variant.type("given_type", op.getGiven());
  variant.integer("added", op.getAdded() ? 1 : 0);
  variant.rowsOf(op.getResult());
  variant.tiles(llvm::divideCeil(vectors, threads));
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::GatherColumnsOp op, Kernels &kernels) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return "it does not change the element type";
  int64_t columns = llm::columnsOf(op.getResult());
  int64_t threads = threadsFor(columns, 256);
  CudaVariant variant("GatherColumns", op, threads);
  variant.integer("input_columns", llm::columnsOf(op.getInput()));
  variant.integer("columns", columns);
  variant.integer("element_bytes", engine::elementBits(typeOf(op.getInput()).getElementType()) / 8);
  variant.rowsOf(op.getResult());
  variant.tiles(llvm::divideCeil(columns, threads));
  kernels.push_back(variant.take());
  return std::nullopt;
}

//===- Mixtures of experts ------------------------------------------------------------------===//

static Declined addKernels(llm::RouteOp op, Kernels &kernels) {
  // A lane holds the weight of one expert of the token, and logits in registers.
  constexpr int64_t kMostExperts = 2048;
  if (op.topK() > kWarpSize || llm::columnsOf(op.getLogits()) > kMostExperts)
    return ("a token has at most " + llvm::Twine(kWarpSize) + " of at most " +
            llvm::Twine(kMostExperts) + " experts")
        .str();
  CudaVariant variant("Route", op, kWarpSize);
  variant.routing(op);
  variant.rowsOf(op.getLogits());
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::GroupRowsOp op, Kernels &kernels) {
  std::optional<RowDim> rows = rowDimOf(op, op.getExperts());
  if (!rows)
    return "rows must be a multiple of a dim";
  int64_t experts = typeOf(op.getStarts()).getDimSize(0) - 1;
  CudaVariant variant("GroupRows", op, /*threads=*/256);
  variant.integer("rows_dim", rows->index);
  variant.integer("rows_each", rows->each);
  variant.integer("experts", experts);
  variant.tiles(experts);
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::CombineOp op, Kernels &kernels) {
  int64_t columns = llm::columnsOf(op.getResult());
  int64_t vectors = columns / vectorWidth(columns, 4);
  int64_t threads = threadsFor(vectors, 256);
  CudaVariant variant("Combine", op, threads);
  variant.integer("columns", columns);
  variant.integer("top_k", llm::rowsFor(typeOf(op.getInput()), typeOf(op.getResult())));
  variant.integer("weighted", op.getWeights() ? 1 : 0);
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  variant.rowsOf(op.getResult());
  variant.tiles(llvm::divideCeil(vectors, threads));
  kernels.push_back(variant.take());
  kernels.back().sums = rowOperationSums(op);
  return std::nullopt;
}

static Declined addKernels(llm::CausalConvOp op, Kernels &kernels) {
  int64_t columns = llm::columnsOf(op.getInput()), threads = threadsFor(columns, 128);
  CudaVariant variant("CausalConv", op, threads);
  variant.causalConv(op);
  variant.rowsOf(op.getBlockTable());
  variant.tiles(llvm::divideCeil(columns, threads));
  kernels.push_back(variant.take());
  return std::nullopt;
}

template <class Op>
static Declined addLinearAttention(Op op, const CudaArchitecture &architecture, Kernels &kernels) {
  // A warp for each fourth row; S of so many columns, beside k' of a chunk, leaves room for a
  // second block on most architectures.
  constexpr int64_t kThreads = 128, kRows = 16, kColumns = 32;
  int64_t keyDim = op.keyDim(), chunk = op.getState().getType().getBlockTokens();
  int64_t floats = (chunk + kRows) * (keyDim | 1) + (keyDim + chunk) * kColumns +
                   2 * kRows * (chunk | 1) + chunk + kRows;
  if (4 * floats > architecture.sharedPerBlock)
    return "its keys are too long";
  CudaVariant variant("LinearAttention", op, kThreads);
  variant.linearAttention(op);
  variant.integer("tile_rows", kRows);
  variant.integer("tile_columns", kColumns);
  variant.shared(4 * floats);
  variant.tiles(llvm::divideCeil(op.valueDim(), kColumns));
  kernels.push_back(variant.take());
  return std::nullopt;
}

//===- Rotary embedding and the KV cache ----------------------------------------------------===//

/// Kernels whose warps take one head of a token at a time: few tokens are spread over more blocks.
/// `describe` sets the constants.
static void addHeadKernels(llvm::StringRef source, Operation *op, Value rows, int64_t heads,
                           llvm::ArrayRef<RangeAttr> declared, Kernels &kernels,
                           llvm::function_ref<void(CudaVariant &)> describe) {
  llm::RowCount count = llm::rowCountOf(typeOf(rows)).value_or(llm::RowCount{"", 1});
  const auto *range =
      llvm::find_if(declared, [&](RangeAttr one) { return one.getDim() == count.dim; });
  int64_t few = std::max<int64_t>(kFewTokens / std::max<int64_t>(count.factor, 1), 1);
  bool many = range != declared.end() && range->getMax() > few;
  int64_t threads = threadsFor(heads * kWarpSize, 256);
  auto add = [&](int64_t blocks) -> engine::KernelVariant & {
    CudaVariant variant(source, op, threads);
    describe(variant);
    variant.rowsOf(rows);
    variant.tiles(blocks);
    return kernels.emplace_back(variant.take());
  };
  engine::KernelVariant &spread = add(llvm::divideCeil(heads * kWarpSize, threads));
  if (!many)
    return;
  spread.ranges = {RangeAttr::get(op->getContext(), count.dim, 1, few)};
  add(1);
}

static Declined addKernels(llm::RopeOp op, llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  int64_t columns = llm::columnsOf(op.getInput()), headDim = op.getHeadDim();
  addHeadKernels("Rope", op, op.getResult(), columns / headDim, declared, kernels,
                 [&](CudaVariant &variant) {
                   variant.integer("columns", columns);
                   variant.type("input_type", op.getInput());
                   variant.type("result_type", op.getResult());
                   variant.rotation(op);
                   // A cache of one head, which only gives the head's size.
                   variant.cache(llm::KvType::get(op.getContext(), 1, headDim,
                                                  Float32Type::get(op.getContext()), 1));
                 });
  return std::nullopt;
}

static Declined addKernels(llm::RopeAppendOp op, llvm::ArrayRef<RangeAttr> declared,
                           Kernels &kernels) {
  llm::KvType cache = op.getCache().getType();
  int64_t queryHeads = llm::columnsOf(op.getResult()) / cache.getHeadDim();
  addHeadKernels("RopeAppend", op, op.getResult(), queryHeads + 2 * cache.getHeads(), declared,
                 kernels, [&](CudaVariant &variant) {
                   variant.cache(cache);
                   variant.integer("query_heads", queryHeads);
                   variant.type("input_type", op.getQkv());
                   variant.type("result_type", op.getResult());
                   variant.rotation(op);
                   variant.integer("static_scales", op.getStaticScales() ? 1 : 0);
                 });
  return std::nullopt;
}

static Declined addKernels(llm::KvAppendOp op, llvm::ArrayRef<RangeAttr> declared,
                           Kernels &kernels) {
  llm::KvType cache = op.getCache().getType();
  if (!cache.isUniform())
    return kOtherWidths;
  addHeadKernels("KvAppend", op, op.getKeys(), 2 * cache.getHeads(), declared, kernels,
                 [&](CudaVariant &variant) {
                   variant.cache(cache);
                   variant.type("keys_type", op.getKeys());
                   variant.type("values_type", op.getValues());
                   variant.integer("static_scales", op.getStaticScales() ? 1 : 0);
                 });
  return std::nullopt;
}

static Declined addKernels(llm::LatentAppendOp op, Kernels &kernels) {
  CudaVariant variant("LatentAppend", op, kWarpSize);
  variant.cache(op.getCache().getType());
  variant.integer("value_dim", op.getCache().getType().getValueDim());
  variant.type("latent_type", op.getLatent());
  variant.type("rotary_type", op.getRotary());
  variant.integer("static_scales", 0);
  variant.rowsOf(op.getLatent());
  kernels.push_back(variant.take());
  return std::nullopt;
}

//===- llm.sample ---------------------------------------------------------------------------===//

/// Bytes of a row in the workspace, as SampleRow.cuh divides it.
static int64_t sampleRowBytes(int64_t vocabulary, int64_t parts, int64_t topColumns) {
  constexpr int64_t kRunCapacity = 2048, kFactsBytes = 40, kListed = 128, kKeyBytes = 8;
  int64_t floats = llvm::alignTo(4 * (2 * vocabulary + 3 * kRunCapacity), 16);
  int64_t lists = (kListed + llvm::alignTo(topColumns, 2)) * kKeyBytes;
  return llvm::alignTo(floats + parts * (kFactsBytes + lists), 16);
}

static Declined addKernels(llm::SampleOp op, llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  constexpr int64_t kPartValues = 4096, kCounters = engine::kCounterBytes / 4;
  // Blocks of a multiprocessor that few rows are spread over.
  constexpr int64_t kWantedBlocks = 2;
  int64_t vocabulary = llm::columnsOf(op.getLogits()),
          topColumns = llm::columnsOf(op.getTopTokens());
  if (vocabulary >= int64_t(1) << 30)
    return "the vocabulary is too large";
  int64_t parts = llvm::divideCeil(vocabulary, kPartValues);
  int64_t rowBytes = sampleRowBytes(vocabulary, parts, topColumns);
  llvm::StringRef dim = llm::rowsOf(typeOf(op.getTokens())).getText();
  std::string rows = ("(" + dim + ")").str();
  auto add = [&](llvm::StringRef blocks) -> engine::KernelVariant & {
    // More threads leave too few registers on sm_100a and sm_120a.
    CudaVariant variant("Sample", op, /*threads=*/256);
    variant.blocksPerMultiprocessor(1);
    variant.integer("vocabulary", vocabulary);
    variant.integer("bias_columns", llm::columnsOf(op.getBiasIds()));
    variant.integer("top_columns", topColumns);
    variant.integer("row_bytes", rowBytes);
    variant.rowsOf(op.getTokens());
    variant.extent(blocks);
    variant.workspace(
        (llvm::Twine(engine::kCounterBytes) + " + " + rows + " * " + llvm::Twine(rowBytes)).str());
    return kernels.emplace_back(variant.take());
  };
  // A row's blocks meet at a counter.
  engine::KernelVariant &shared = add((llvm::Twine(parts) + " min ((" + llvm::Twine(kWantedBlocks) +
                                       " * sms) ceildiv " + rows + ")")
                                          .str());
  if (parts == 1 || mostOf(declared, dim) <= kCounters)
    return std::nullopt;
  shared.guards = shared.ranges = {RangeAttr::get(op.getContext(), dim, 1, kCounters)};
  add("1");
  return std::nullopt;
}

Declined codegen::addRowKernels(Operation *op, const CudaArchitecture &architecture,
                                llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  return llvm::TypeSwitch<Operation *, Declined>(op)
      .Case<llm::EmbedOp, llm::NormOp, llm::PointwiseOp, llm::RoundOp, llm::QuantizeActivationOp,
            llm::SliceColumnsOp, llm::GatherRowsOp, llm::PlaceRowsOp, llm::GatherColumnsOp,
            llm::RouteOp, llm::GroupRowsOp, llm::CombineOp, llm::CausalConvOp, llm::LatentAppendOp>(
          [&](auto known) { return addKernels(known, kernels); })
      .Case<llm::GatedDeltaRuleOp, llm::StateSpaceOp>(
          [&](auto known) { return addLinearAttention(known, architecture, kernels); })
      .Case<llm::RopeOp, llm::RopeAppendOp, llm::KvAppendOp, llm::SampleOp>(
          [&](auto known) { return addKernels(known, declared, kernels); })
      .Default([](Operation *) { return Declined("it is no operation of a step"); });
}
