// SPDX-License-Identifier: Apache-2.0
// One kernel per operation of the llm dialect; no fused form, no layout but row-major.
#include "codegen/reference/ReferenceTarget.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmStateOps.h"

#include "codegen/VariantBuilder.h"
#include "codegen/WeightLayout.h"
#include "codegen/native/NativeKernels.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::LayoutAttr;

namespace {

/// Operands that the Pointwise template passes on.
constexpr size_t kPointwiseOperands = 6;
/// Columns of a matmul's tile: enough work to be worth handing to a thread.
constexpr int64_t kMatmulTileColumns = 64;
/// What is summed together where nobody prescribes another order: columns of products and norms,
/// positions of attention.
constexpr int64_t kProductSegment = 512, kNormSegment = 256, kAttentionSegment = 256;
/// Positions that the Attention template takes at once.
constexpr int64_t kMostPositions = 128;

class ReferenceProvider final : public engine::KernelProvider {
public:
  std::optional<std::string> declines(engine::Fusion fusion, Operation *) const override {
    // Encoded weights stay encoded: they are decoded element by element. Inputs of 8 bits and FP8
    // attention are no fusions: they change numbers.
    using enum engine::Fusion;
    if (fusion == Dequantize || fusion == QuantizeActivation || fusion == Fp8Attention)
      return std::nullopt;
    return "the reference target executes every operation by itself";
  }

  int64_t pairOffset() const override { return 1; }
  bool scalesInputGroups() const override { return true; }

  FailureOr<LayoutAttr> weightLayout(Operation *user, unsigned operand) const override;
  llvm::SmallVector<engine::SumsAttr> sumsFor(Operation *op,
                                              llvm::ArrayRef<engine::RangeAttr>) const override;
  LogicalResult kernelsFor(Operation *op, llvm::ArrayRef<engine::RangeAttr> declared,
                           llvm::SmallVectorImpl<KernelVariant> &kernels) const override;
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static InFlightDiagnostic decline(Operation *op) {
  return op->emitError() << "INGOT-E4100: target 'reference' has no kernel for '" << op->getName()
                         << "': ";
}

FailureOr<LayoutAttr> ReferenceProvider::weightLayout(Operation *user, unsigned operand) const {
  auto type = dyn_cast<RankedTensorType>(user->getOperand(operand).getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return decline(user) << "operand " << operand << " is no weight of one or two dimensions";
  return rowMajorLayout(type);
}

//===- One function per operation -----------------------------------------------------------===//

/// The constants of EncodedWeight.h.
static void addWeight(VariantBuilder &variant, const llm::EncodedWeight &weight) {
  int64_t columns = llm::columnsOf(weight.values);
  variant.weight(weight);
  variant.integer("weight_columns", columns);
  variant.integer("group", weight.facts().group);
  variant.integer("groups", weight.facts().groupsOf(columns));
}

static FailureOr<KernelVariant> kernelFor(llm::EmbedOp op) {
  VariantBuilder variant("Embed", op.getContext());
  variant.integer("table_rows", typeOf(op.getTable()).getDimSize(0));
  addWeight(variant, op.getEncodedWeight());
  variant.type("result_type", op.getResult());
  variant.rowsOf(op.getResult());
  return variant.take();
}

//===- Orders of sums -----------------------------------------------------------------------===//

using engine::SumUnit;

/// The order of the reference's own; it executes any that an operation prescribes.
static engine::SumsAttr ownSums(llm::NormOp op) {
  return engine::SumsAttr::get(op.getContext(), SumUnit::Products, 1, 0, kNormSegment);
}
static engine::SumsAttr ownSums(llm::AttentionOp op) {
  return engine::SumsAttr::get(op.getContext(), SumUnit::Products, 1, 0, kAttentionSegment);
}
static engine::SumsAttr ownSums(llm::EncoderAttentionOp op) {
  return engine::SumsAttr::get(op.getContext(), SumUnit::Products, 1, 0, kAttentionSegment);
}
static engine::SumsAttr ownSums(llm::CombineOp op) {
  return engine::SumsAttr::get(op.getContext(), SumUnit::Products, 1);
}
static engine::SumsAttr ownSums(llm::MatmulOp op) {
  MLIRContext *context = op.getContext();
  if (!typeOf(op.getInput()).getElementType().isInteger(8))
    return engine::SumsAttr::get(context, SumUnit::Products, 1, 0, kProductSegment);
  int64_t group = llm::columnsOf(op.getInput()) / llm::columnsOf(op.getInputScales());
  if (op.getEncoding() && op.getEncoding()->getGroup() > 0)
    group = std::min(group, op.getEncoding()->getGroup());
  return engine::SumsAttr::get(context, SumUnit::Integers, group, group);
}

llvm::SmallVector<engine::SumsAttr>
ReferenceProvider::sumsFor(Operation *op, llvm::ArrayRef<engine::RangeAttr>) const {
  using Orders = llvm::SmallVector<engine::SumsAttr>;
  return llvm::TypeSwitch<Operation *, Orders>(op)
      .Case<llm::MatmulOp, llm::NormOp, llm::AttentionOp, llm::EncoderAttentionOp, llm::CombineOp>(
          [](auto known) { return Orders{ownSums(known)}; })
      .Default(Orders());
}

/// `variant` with the constants of SumUnits.h, adding in the order of `op`.
template <class Op>
static KernelVariant takeWithSums(VariantBuilder &variant, Op op, int64_t scratchBytes = 0) {
  engine::SumsAttr sums = op.getSums().value_or(ownSums(op));
  variant.integer("sum_unit", int64_t(sums.getUnit()));
  variant.integer("sum_width", sums.getWidth());
  variant.integer("sum_segment", sums.getSegment());
  variant.integer("sum_fields", sums.getFields());
  KernelVariant kernel = variant.take(scratchBytes);
  kernel.sums = sums;
  return kernel;
}

static FailureOr<KernelVariant> kernelFor(llm::NormOp op) {
  if (op.getResidual() || op.getSum() || op.getScales())
    return decline(op) << "it norms neither sums nor into 8 bits";
  VariantBuilder variant("Norm", op.getContext());
  variant.normedRows(op);
  return takeWithSums(variant, op);
}

static FailureOr<KernelVariant> kernelFor(llm::MatmulOp op) {
  if (!op.getEpilogue().empty() || op.getPairOffset())
    return decline(op) << "it fuses no epilogue";
  if (typeOf(op.getWeight()).getElementType().isInteger() && !op.getEncoding())
    return decline(op) << "an integer weight needs an encoding";
  if (op.getSums() && op.getSums()->getSegment() < 0)
    return decline(op) << "it has no segments of its own";
  int64_t columns = llm::columnsOf(op.getResult());
  VariantBuilder variant("Matmul", op.getContext());
  addWeight(variant, op.getEncodedWeight());
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  variant.integer("result_columns", columns);
  variant.integer("tile_columns", kMatmulTileColumns);
  variant.integer("experts", op.getOrder() ? op.experts() : 0);
  if (op.getHeads()) {
    variant.integer("heads", op.experts());
    variant.integer("head_rows", op.expertRows());
  }
  variant.integer("input_share", llm::rowsFor(op.getType(), typeOf(op.getInput())));
  variant.integer("input_scales", op.getInputScales() ? llm::columnsOf(op.getInputScales()) : 0);
  variant.integer("sum_group", op.getSums().value_or(ownSums(op)).getGroup());
  variant.rowsOf(op.getResult());
  variant.tiles(llvm::divideCeil(columns, kMatmulTileColumns));
  return takeWithSums(variant, op);
}

static FailureOr<KernelVariant> kernelFor(llm::PointwiseOp op) {
  if (op.getInputs().size() > kPointwiseOperands)
    return decline(op) << "it takes at most " << kPointwiseOperands << " operands";
  VariantBuilder variant("Pointwise", op.getContext());
  variant.regionOperands(op.getInputs(), op.getResult(), kPointwiseOperands);
  variant.integer("columns", llm::columnsOf(op.getResult()));
  variant.type("result_type", op.getResult());
  variant.rowsOf(op.getResult());
  return variant.take();
}

/// Operations with a row of input and result of `columns` each.
static VariantBuilder rowWise(llvm::StringRef source, Value input, Value result) {
  VariantBuilder variant(source, input.getContext());
  variant.integer("columns", llm::columnsOf(input));
  variant.type("input_type", input);
  variant.type("result_type", result);
  variant.rowsOf(result);
  return variant;
}

static FailureOr<KernelVariant> kernelFor(llm::RoundOp op) {
  return rowWise("Round", op.getInput(), op.getResult()).take();
}

static FailureOr<KernelVariant> kernelFor(llm::QuantizeActivationOp op) {
  VariantBuilder variant("QuantizeActivation", op.getContext());
  variant.quantizedRows(op);
  return variant.take();
}

static FailureOr<KernelVariant> kernelFor(llm::RopeOp op) {
  VariantBuilder variant = rowWise("Rope", op.getInput(), op.getResult());
  variant.integer("head_dim", op.getHeadDim());
  variant.rotation(op);
  return variant.take();
}

static FailureOr<KernelVariant> kernelFor(llm::SliceColumnsOp op) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return decline(op) << "it does not change the element type";
  return sliceColumnsKernel(op);
}

static FailureOr<KernelVariant> kernelFor(llm::GatherRowsOp op) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return decline(op) << "it does not change the element type";
  return gatherRowsKernel(op);
}

static FailureOr<KernelVariant> kernelFor(llm::PlaceRowsOp op) { return placeRowsKernel(op); }

static FailureOr<KernelVariant> kernelFor(llm::GatherColumnsOp op) {
  if (typeOf(op.getInput()).getElementType() != typeOf(op.getResult()).getElementType())
    return decline(op) << "it does not change the element type";
  return gatherColumnsKernel(op);
}

static FailureOr<KernelVariant> kernelFor(llm::RouteOp op) { return routeKernel(op); }

static FailureOr<KernelVariant> kernelFor(llm::GroupRowsOp op) {
  std::optional<KernelVariant> kernel = groupRowsKernel(op);
  if (!kernel)
    return decline(op) << "rows must be a multiple of a dim";
  return std::move(*kernel);
}

static FailureOr<KernelVariant> kernelFor(llm::CombineOp op) {
  VariantBuilder variant = rowWise("SumRows", op.getInput(), op.getResult());
  variant.integer("top_k", llm::rowsFor(typeOf(op.getInput()), typeOf(op.getResult())));
  variant.integer("weighted", op.getWeights() ? 1 : 0);
  return takeWithSums(variant, op);
}

static FailureOr<KernelVariant> kernelFor(llm::CausalConvOp op) { return causalConvKernel(op); }

template <class Op> static FailureOr<KernelVariant> linearAttentionKernel(Op op) {
  int64_t keyDim = op.keyDim(), valueDim = op.valueDim(),
          chunk = op.getState().getType().getBlockTokens();
  VariantBuilder variant("LinearAttention", op.getContext());
  variant.linearAttention(op);
  // A chunk of one value head, and q' and k' of a token.
  return variant.take(
      4 * (llm::GatedDeltaRuleOp::stateElements(1, 1, keyDim, valueDim, chunk) + 2 * keyDim));
}
static FailureOr<KernelVariant> kernelFor(llm::GatedDeltaRuleOp op) {
  return linearAttentionKernel(op);
}
static FailureOr<KernelVariant> kernelFor(llm::StateSpaceOp op) {
  return linearAttentionKernel(op);
}

static FailureOr<KernelVariant> kernelFor(llm::KvAppendOp op) {
  VariantBuilder variant("KvAppend", op.getContext());
  variant.cache(op.getCache().getType());
  variant.integer("value_dim", op.getCache().getType().getValueDim());
  variant.type("keys_type", op.getKeys());
  variant.type("values_type", op.getValues());
  variant.integer("static_scales", op.getStaticScales() ? 1 : 0);
  variant.rowsOf(op.getKeys());
  return variant.take();
}

static FailureOr<KernelVariant> kernelFor(llm::LatentAppendOp op) {
  VariantBuilder variant("LatentAppend", op.getContext());
  variant.cache(op.getCache().getType());
  variant.integer("value_dim", op.getCache().getType().getValueDim());
  variant.type("latent_type", op.getLatent());
  variant.type("rotary_type", op.getRotary());
  variant.rowsOf(op.getLatent());
  return variant.take();
}

static FailureOr<KernelVariant> kernelFor(llm::AttentionOp op) {
  llm::KvType cache = op.getCache().getType();
  engine::SumsAttr sums = op.getSums().value_or(ownSums(op));
  if (sums.getWidth() > kMostPositions || sums.getUnit() == SumUnit::Integers)
    return decline(op) << "it adds no " << sums.text();
  VariantBuilder variant("Attention", op.getContext());
  variant.attention(op);
  variant.integer("value_dim", cache.getValueDim());
  variant.integer("value_stride", cache.getLatent() ? cache.getHeadDim() : cache.getValueDim());
  variant.integer("fp8", op.getFp8() ? 1 : 0);
  variant.rowsOf(op.getResult());
  variant.tiles(op.queryHeads());
  return takeWithSums(variant, op, 4 * (sums.getSegment() + 2 * cache.getValueDim()));
}

static FailureOr<KernelVariant> kernelFor(llm::SelectPositionsOp op) {
  return selectPositionsKernel(op);
}

static FailureOr<KernelVariant> kernelFor(llm::EncoderAttentionOp op) {
  engine::SumsAttr sums = op.getSums().value_or(ownSums(op));
  VariantBuilder variant("EncoderAttention", op.getContext());
  variant.encoderAttention(op);
  variant.rowsOf(op.getResult());
  variant.tiles(op.queryHeads());
  return takeWithSums(variant, op, 4 * (sums.getSegment() + 2 * op.valueDim()));
}

static FailureOr<KernelVariant> kernelFor(llm::SampleOp op) { return sampleKernel(op); }

/// Kernels read weights in row-major order only.
static LogicalResult checkLayouts(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (!isRowMajor(type))
      return decline(op) << "weight " << type << " is not in row-major order";
  return success();
}

LogicalResult ReferenceProvider::kernelsFor(Operation *op, llvm::ArrayRef<engine::RangeAttr>,
                                            llvm::SmallVectorImpl<KernelVariant> &kernels) const {
  if (failed(checkLayouts(op)))
    return failure();
  FailureOr<KernelVariant> kernel =
      llvm::TypeSwitch<Operation *, FailureOr<KernelVariant>>(op)
          .Case<llm::EmbedOp, llm::NormOp, llm::MatmulOp, llm::PointwiseOp, llm::RoundOp,
                llm::QuantizeActivationOp, llm::RopeOp, llm::SliceColumnsOp, llm::GatherRowsOp,
                llm::PlaceRowsOp, llm::GatherColumnsOp, llm::RouteOp, llm::GroupRowsOp,
                llm::CombineOp, llm::KvAppendOp, llm::LatentAppendOp, llm::AttentionOp,
                llm::SelectPositionsOp, llm::EncoderAttentionOp, llm::CausalConvOp,
                llm::GatedDeltaRuleOp, llm::StateSpaceOp, llm::SampleOp>(
              [](auto known) { return kernelFor(known); })
          .Default([](Operation *other) {
            return decline(other) << "it is a fused form or none of the llm dialect's";
          });
  if (failed(kernel))
    return failure();
  kernels.push_back(std::move(*kernel));
  return success();
}

std::unique_ptr<engine::KernelProvider> codegen::createReferenceProvider() {
  return std::make_unique<ReferenceProvider>();
}
