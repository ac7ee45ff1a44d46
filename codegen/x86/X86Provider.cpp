// SPDX-License-Identifier: Apache-2.0
// What the x86 targets fuse, how they store weights, and which template runs each operation.
#include "codegen/VariantBuilder.h"
#include "codegen/native/NativeKernels.h"
#include "codegen/x86/MatmulKernels.h"
#include "codegen/x86/PanelLayout.h"
#include "codegen/x86/X86Target.h"
#include "codegen/x86/kernels/AttentionBlocks.h"
#include "codegen/x86/kernels/LinearScratch.h"
#include "codegen/x86/kernels/MatmulBlocks.h"
#include "codegen/x86/kernels/NormBlocks.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmStateOps.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::LayoutAttr;
using engine::RangeAttr;

namespace {

constexpr size_t kPointwiseOperands = 6;

/// Columns of a pointwise tile.
constexpr int64_t kPointwiseColumns = 4096;

/// Up to `most` tokens, attention gives tiles this many rows (tokens times query heads of a KV
/// head): single tokens spread over threads, prompts share decoded keys and values.
struct AttentionShape {
  int64_t most, rows;
};
constexpr AttentionShape kAttentionShapes[] = {{16, 1}, {128, 32}, {INT64_MAX, 96}};

/// The same for the tokens of one sequence, as when a prompt's beginning is in the cache: those of
/// a tile of AMX share keys at no cost.
constexpr AttentionShape kSequenceShape = {16, 16};

using Kernels = llvm::SmallVectorImpl<KernelVariant>;

class X86Provider final : public engine::KernelProvider {
public:
  X86Provider(engine::TargetAttr target, const X86Features &features)
      : target(target), features(features) {}

  std::optional<std::string> declines(engine::Fusion fusion, Operation *site) const override;
  int64_t pairOffset() const override { return x86::panelRows; }
  bool scalesInputGroups() const override { return true; }
  FailureOr<LayoutAttr> weightLayout(Operation *user, unsigned operand) const override;
  llvm::SmallVector<engine::SumsAttr> sumsFor(Operation *op,
                                              llvm::ArrayRef<RangeAttr>) const override;
  LogicalResult kernelsFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                           Kernels &kernels) const override;
  void candidatesFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                     Kernels &kernels) const override;

private:
  LogicalResult fail(Operation *op, const llvm::Twine &reason) const {
    return op->emitError() << "INGOT-E4201: target '" << target.getName() << "' has no kernel for '"
                           << op->getName() << "': " << reason;
  }

  engine::TargetAttr target;
  X86Features features;
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

std::optional<std::string> X86Provider::declines(engine::Fusion fusion, Operation *site) const {
  // A fused product must stay within what the template takes.
  if (fusion == engine::Fusion::Epilogue && site->getNumOperands() > 5)
    return "an epilogue has at most 4 operands";
  if (fusion == engine::Fusion::Fp8Attention)
    return "the target has no FP8 products";
  return std::nullopt;
}

FailureOr<LayoutAttr> X86Provider::weightLayout(Operation *user, unsigned operand) const {
  auto type = dyn_cast<RankedTensorType>(user->getOperand(operand).getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return fail(user, "operand " + llvm::Twine(operand) + " is no weight of one or two dimensions");
  if (auto matmul = dyn_cast<llm::MatmulOp>(user))
    return matmulLayout(matmul, operand);
  return rowMajorLayout(type);
}

//===- One function per operation: adds its kernels, or says why there is none ----------------===//

using Declined = std::optional<std::string>;

/// The `inner` of the panel layout of an embedding table; 0: row-major; -1: another layout.
static int64_t tableInner(RankedTensorType type) {
  if (layoutOf(type) == rowMajorLayout(type))
    return 0;
  for (int64_t inner : {1, 2, 4, 8})
    if (layoutOf(type) == panelLayout(type, inner))
      return inner;
  return -1;
}

static Declined addKernels(llm::EmbedOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  int64_t inner = tableInner(typeOf(op.getTable()));
  bool fields = engine::elementBits(typeOf(op.getTable()).getElementType()) < 8;
  if (inner < 0 || (inner != 0 && fields != (inner == 8)))
    return "the table's layout is unknown";
  llm::EncodedWeight table = op.getEncodedWeight();
  int64_t columns = llm::columnsOf(table.values);
  std::optional<int64_t> partInner; // of what has rows beside the values
  for (Value part : table.parts())
    if (table.hasRows(part) &&
        partInner.value_or(tableInner(typeOf(part))) == tableInner(typeOf(part)))
      partInner = tableInner(typeOf(part));
    else if (table.hasRows(part))
      return "the tensors beside the table differ in their layout";
  if (partInner.value_or(0) != 0 && *partInner != 1)
    return "the layout of the table's scales is unknown";
  VariantBuilder variant("Embed", op.getContext());
  variant.integer("table_rows", typeOf(op.getTable()).getDimSize(0));
  variant.integer("columns", columns);
  variant.weight(table);
  variant.integer("inner", inner);
  variant.integer("scale_panels", partInner.value_or(0));
  variant.integer("group", table.facts().group);
  variant.integer("groups", table.facts().groupsOf(columns));
  variant.type("result_type", op.getResult());
  variant.rowsOf(op.getResult());
  kernels.push_back(variant.take());
  return std::nullopt;
}

using engine::SumsAttr;
using engine::SumUnit;

static SumsAttr sumsOf(llm::NormOp op) {
  return SumsAttr::get(op.getContext(), SumUnit::Products, 1, 0, x86::normSegmentColumns);
}

static Declined addKernels(llm::NormOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  VariantBuilder variant("Norm", op.getContext());
  variant.norm(op);
  variant.integer("scales", op.getScales() ? llm::columnsOf(op.getScales()) : 1);
  kernels.push_back(variant.take(x86::normScratchBytes(op.normedColumns())));
  kernels.back().sums = sumsOf(op);
  return std::nullopt;
}

/// llm.pointwise and, as the identity of one operand, llm.round.
static Declined addPointwise(Operation *op, ValueRange inputs, Value result, Kernels &kernels) {
  if (inputs.size() > kPointwiseOperands)
    return ("it takes at most " + llvm::Twine(kPointwiseOperands) + " operands").str();
  int64_t columns = llm::columnsOf(result);
  VariantBuilder variant("Pointwise", op->getContext());
  variant.integer("columns", columns);
  variant.type("result_type", result);
  variant.integer("tile_columns", kPointwiseColumns);
  variant.regionOperands(inputs, result, kPointwiseOperands);
  variant.tiles(llvm::divideCeil(columns, kPointwiseColumns));
  variant.rowsOf(result);
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::PointwiseOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  return addPointwise(op, op.getInputs(), op.getResult(), kernels);
}

static Declined addKernels(llm::RoundOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  return addPointwise(op, op->getOperands(), op.getResult(), kernels);
}

static Declined addKernels(llm::QuantizeActivationOp op, llvm::ArrayRef<RangeAttr>,
                           Kernels &kernels) {
  VariantBuilder variant("QuantizeActivation", op.getContext());
  variant.quantizedRows(op);
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::SliceColumnsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return "it does not change the element type";
  kernels.push_back(sliceColumnsKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::GatherRowsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return "it does not change the element type";
  kernels.push_back(gatherRowsKernel(op));
  return std::nullopt;
}

/// Scratch of the rotation's factors.
static int64_t rotationBytes(int64_t headDim) {
  return 2 * 4 * int64_t(llvm::alignTo(llvm::divideCeil(headDim, 2), 16));
}

static Declined addKernels(llm::RopeOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  VariantBuilder variant("Rope", op.getContext());
  variant.integer("columns", llm::columnsOf(op.getInput()));
  variant.integer("head_dim", op.getHeadDim());
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  variant.rotation(op);
  variant.rowsOf(op.getResult());
  kernels.push_back(variant.take(rotationBytes(op.getHeadDim())));
  return std::nullopt;
}

static Declined addKernels(llm::RopeAppendOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  llm::KvType cache = op.getCache().getType();
  VariantBuilder variant("RopeAppend", op.getContext());
  variant.cache(cache);
  variant.integer("query_heads", llm::columnsOf(op.getResult()) / cache.getHeadDim());
  variant.type("input_type", op.getQkv());
  variant.type("result_type", op.getResult());
  variant.rotation(op);
  variant.integer("static_scales", op.getStaticScales() ? 1 : 0);
  variant.rowsOf(op.getResult());
  // The factors, then one key, read in whole vectors.
  int64_t keyBytes = 4 * llvm::alignTo(cache.getHeadDim() + 16, 16);
  kernels.push_back(variant.take(rotationBytes(cache.getHeadDim()) + keyBytes));
  return std::nullopt;
}

static Declined addKernels(llm::KvAppendOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  if (!op.getCache().getType().isUniform())
    return kOtherWidths;
  VariantBuilder variant("KvAppend", op.getContext());
  variant.cache(op.getCache().getType());
  variant.type("keys_type", op.getKeys());
  variant.type("values_type", op.getValues());
  variant.integer("static_scales", op.getStaticScales() ? 1 : 0);
  variant.rowsOf(op.getKeys());
  kernels.push_back(variant.take());
  return std::nullopt;
}

static Declined addKernels(llm::LatentAppendOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  llm::KvType cache = op.getCache().getType();
  VariantBuilder variant("LatentAppend", op.getContext());
  variant.cache(cache);
  variant.integer("value_dim", cache.getValueDim());
  variant.type("latent_type", op.getLatent());
  variant.type("rotary_type", op.getRotary());
  variant.integer("static_scales", 0);
  variant.rowsOf(op.getLatent());
  // One key, written in whole vectors.
  kernels.push_back(variant.take(4 * int64_t(llvm::alignTo(cache.getHeadDim() + 16, 16))));
  return std::nullopt;
}

/// The widest products of bf16 that the target has.
static x86::AttentionMethod widestMethod(const X86Features &has) {
  return has.amx ? x86::TileAttention : has.bf16 ? x86::PairAttention : x86::FloatAttention;
}

/// How the products of `op` are made: by the widest of what the target has that fits.
static x86::AttentionMethod attentionMethod(llm::AttentionOp op, const X86Features &has) {
  llm::KvType cache = op.getCache().getType();
  bool fits = typeOf(op.getQuery()).getElementType().isBF16() && cache.getElement().isBF16() &&
              cache.getHeadDim() % (x86::amxRowBytes / 2) == 0 &&
              cache.getValueDim() % x86::amxRows == 0 &&
              (!op.getRotary() || typeOf(op.getRotary()).getElementType().isBF16());
  return !fits ? x86::FloatAttention : widestMethod(has);
}

static SumsAttr attentionSums(Operation *op, x86::AttentionMethod method) {
  if (method == x86::FloatAttention)
    return SumsAttr::get(op->getContext(), SumUnit::Columns, 1, 0, x86::attentionSegment);
  bool tiles = method == x86::TileAttention;
  return SumsAttr::get(op->getContext(), tiles ? SumUnit::Halves : SumUnit::Pairs,
                       tiles ? x86::amxRowBytes / 2 : 2, 0, x86::attentionSegment, /*parts=*/2);
}

/// Query heads of a tile: those of a KV head, or of a latent cache, where these are all there are,
/// a part, so that the few tokens of a decode occupy many threads.
static int64_t tileHeads(llm::AttentionOp op, int64_t rows) {
  llm::KvType cache = op.getCache().getType();
  int64_t heads = op.queryHeads() / cache.getHeads();
  if (!cache.getLatent())
    return heads;
  int64_t parts =
      std::max<int64_t>(llvm::divideCeil(heads, std::max<int64_t>(rows, x86::amxRows)), 2);
  while (parts < heads && heads % parts != 0)
    ++parts;
  return heads / std::min(parts, heads);
}

static KernelVariant attentionKernel(llm::AttentionOp op, int64_t rows,
                                     x86::AttentionMethod method) {
  llm::KvType cache = op.getCache().getType();
  int64_t heads = tileHeads(op, rows);
  // Tokens with lists of their own share no keys.
  int64_t tokens = op.getSelected() ? 1 : std::max<int64_t>(rows / heads, 1);
  VariantBuilder variant("Attention", op.getContext());
  variant.attention(op);
  variant.integer("value_dim", cache.getValueDim());
  variant.integer("value_stride", cache.getLatent() ? cache.getHeadDim() : cache.getValueDim());
  variant.integer("tile_heads", heads);
  variant.integer("tile_tokens", tokens);
  variant.integer("method", method);
  variant.tiles(op.queryHeads() / heads);
  variant.rowsOf(op.getResult(), tokens);
  x86::AttentionScratch scratch = {tokens * heads, cache.getHeadDim(), method, cache.getValueDim()};
  KernelVariant kernel = variant.take(scratch.bytes());
  kernel.sums = attentionSums(op, method);
  return kernel;
}

static Declined addAttention(llm::AttentionOp op, llvm::ArrayRef<RangeAttr> declared,
                             x86::AttentionMethod method, Kernels &kernels) {
  std::optional<std::string> rows = plainRowDimOf(op.getQuery()),
                             sequences = plainRowDimOf(op.getBlockTable());
  if (!rows || !sequences)
    return "its rows and sequences must be dims";
  if (op.getFp8())
    return "the target has no FP8 products";
  int64_t most = mostOf(declared, *rows);
  int64_t least = 1;
  if (most > 1) {
    KernelVariant kernel = attentionKernel(op, kSequenceShape.rows, method);
    MLIRContext *context = op.getContext();
    kernel.ranges = {RangeAttr::get(context, *rows, 2, std::min(most, kSequenceShape.most)),
                     RangeAttr::get(context, *sequences, 1, 1)};
    kernels.push_back(std::move(kernel));
  }
  for (const AttentionShape &shape : kAttentionShapes) {
    KernelVariant kernel = attentionKernel(op, shape.rows, method);
    bool last = most <= shape.most;
    if (!last)
      kernel.ranges = {RangeAttr::get(op.getContext(), *rows, least, shape.most)};
    kernels.push_back(std::move(kernel));
    if (last)
      break;
    least = shape.most + 1;
  }
  return std::nullopt;
}

/// The same of an encoder, whose heads may have any even number of columns.
static x86::AttentionMethod attentionMethod(llm::EncoderAttentionOp op, const X86Features &has) {
  bool fits = llvm::all_of(llvm::ArrayRef<Value>{op.getQuery(), op.getKeys(), op.getValues()},
                           [](Value of) { return typeOf(of).getElementType().isBF16(); }) &&
              op.keyDim() % 2 == 0 && op.getScale().convertToFloat() > 0;
  return !fits ? x86::FloatAttention : widestMethod(has);
}

static Declined addEncoderAttention(llm::EncoderAttentionOp op, x86::AttentionMethod method,
                                    Kernels &kernels) {
  std::optional<RowDim> rows = rowDimOf(op, op.getResult());
  if (!rows)
    return "rows must be a multiple of a dim";
  auto kvHeads = int64_t(op.getKvHeads()), headsPerKvHead = op.queryHeads() / kvHeads;
  int64_t tileRows = std::max<int64_t>(x86::encoderTileRows(method) / headsPerKvHead, 1);
  VariantBuilder variant("EncoderAttention", op.getContext());
  variant.encoderAttention(op);
  variant.integer("tile_rows", tileRows);
  variant.integer("rows_dim", rows->index);
  variant.integer("rows_each", rows->each);
  variant.integer("method", method);
  // Tiles of a head follow each other, since they read the same keys and values.
  variant.rowsOf(op.getResult(), tileRows);
  variant.tiles(kvHeads);
  int64_t tileHeads = tileRows * headsPerKvHead;
  x86::AttentionScratch floats = {tileHeads, op.keyDim(), method, op.valueDim()};
  x86::EncoderScratch pairs = {tileHeads, op.keyDim(), op.valueDim(), method};
  kernels.push_back(variant.take(method == x86::FloatAttention ? floats.bytes() : pairs.bytes()));
  kernels.back().sums = attentionSums(op, method);
  return std::nullopt;
}

static Declined addKernels(llm::SampleOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(sampleKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::SelectPositionsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(selectPositionsKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::PlaceRowsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(placeRowsKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::GatherColumnsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return "it does not change the element type";
  kernels.push_back(gatherColumnsKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::RouteOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(routeKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::GroupRowsOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  std::optional<KernelVariant> kernel = groupRowsKernel(op);
  if (!kernel)
    return "rows must be a multiple of a dim";
  kernels.push_back(std::move(*kernel));
  return std::nullopt;
}

static Declined addKernels(llm::CombineOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(combineKernel(op));
  return std::nullopt;
}

static Declined addKernels(llm::CausalConvOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  kernels.push_back(causalConvKernel(op));
  return std::nullopt;
}

template <class Op> static Declined addLinearAttention(Op op, Kernels &kernels) {
  x86::LinearScratch scratch = {op.keyDim(), op.valueDim(),
                                op.getState().getType().getBlockTokens()};
  VariantBuilder variant("LinearAttention", op.getContext());
  variant.linearAttention(op);
  kernels.push_back(variant.take(scratch.bytes()));
  return std::nullopt;
}
static Declined addKernels(llm::GatedDeltaRuleOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  return addLinearAttention(op, kernels);
}
static Declined addKernels(llm::StateSpaceOp op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  return addLinearAttention(op, kernels);
}

llvm::SmallVector<SumsAttr> X86Provider::sumsFor(Operation *op, llvm::ArrayRef<RangeAttr>) const {
  using Orders = llvm::SmallVector<SumsAttr>;
  return llvm::TypeSwitch<Operation *, Orders>(op)
      .Case([&](llm::MatmulOp matmul) {
        return matmulDeclined(matmul) ? Orders() : Orders{matmulSums(matmul, features)};
      })
      .Case([&](llm::AttentionOp attention) {
        return Orders{attentionSums(attention, attentionMethod(attention, features))};
      })
      .Case([&](llm::EncoderAttentionOp attention) {
        return Orders{attentionSums(attention, attentionMethod(attention, features))};
      })
      .Case([](llm::NormOp norm) { return Orders{sumsOf(norm)}; })
      .Case([](llm::CombineOp combine) { return Orders{rowSums(combine)}; })
      .Default(Orders());
}

LogicalResult X86Provider::kernelsFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                                      Kernels &kernels) const {
  if (!isa<llm::EncodedWeightOpInterface>(op) && !llvm::all_of(op->getOperandTypes(), isRowMajor))
    return fail(op, "it reads weights in row-major order only");
  Declined reason =
      llvm::TypeSwitch<Operation *, Declined>(op)
          .Case([&](llm::MatmulOp matmul) {
            Declined declined = matmulDeclined(matmul);
            if (!declined)
              matmulKernels(matmul, declared, features, kernels);
            return declined;
          })
          .Case([&](llm::AttentionOp attention) {
            return addAttention(attention, declared, attentionMethod(attention, features), kernels);
          })
          .Case([&](llm::EncoderAttentionOp attention) {
            return addEncoderAttention(attention, attentionMethod(attention, features), kernels);
          })
          .Case<llm::EmbedOp, llm::NormOp, llm::PointwiseOp, llm::RoundOp,
                llm::QuantizeActivationOp, llm::SliceColumnsOp, llm::GatherRowsOp, llm::PlaceRowsOp,
                llm::GatherColumnsOp, llm::RopeOp, llm::RopeAppendOp, llm::KvAppendOp,
                llm::LatentAppendOp, llm::SelectPositionsOp, llm::SampleOp, llm::RouteOp,
                llm::GroupRowsOp, llm::CombineOp, llm::CausalConvOp, llm::GatedDeltaRuleOp,
                llm::StateSpaceOp>([&](auto known) { return addKernels(known, declared, kernels); })
          .Default([](Operation *) { return Declined("it is no operation of a step"); });
  return reason ? fail(op, *reason) : success();
}

void X86Provider::candidatesFor(Operation *op, llvm::ArrayRef<RangeAttr>, Kernels &kernels) const {
  auto matmul = dyn_cast<llm::MatmulOp>(op);
  if (matmul && !matmulDeclined(matmul))
    matmulCandidates(matmul, features, kernels);
}

std::unique_ptr<engine::KernelProvider> codegen::createX86Provider(engine::TargetAttr target,
                                                                   const X86Features &features) {
  return std::make_unique<X86Provider>(target, features);
}
