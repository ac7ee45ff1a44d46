// SPDX-License-Identifier: Apache-2.0
// pointwise(gate half, up half) of one product becomes its pair epilogue: the weight's rows, of
// which the halves may be stacked or stored so, are interleaved so that both members of a pair
// stand a fixed number of columns apart.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace ingot {
#define GEN_PASS_DEF_FUSESWIGLUPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Of the tensors of a weight that is interleaved.
constexpr llm::EncodedWeight::Tensor kFileOrder[] = {
    &llm::EncodedWeight::zeros, &llm::EncodedWeight::superScales, &llm::EncodedWeight::values,
    &llm::EncodedWeight::scales};

int64_t rowsOf(Value weight) { return cast<RankedTensorType>(weight.getType()).getDimSize(0); }

/// The two halves of a stacked weight; nulls when `value` is not one.
std::pair<Value, Value> halves(Value value) {
  auto concat = value ? value.getDefiningOp<llm::ConcatRowsOp>() : llm::ConcatRowsOp();
  if (!concat || concat.getInputs().size() != 2 ||
      concat.getInputs()[0].getType() != concat.getInputs()[1].getType())
    return {};
  return {concat.getInputs()[0], concat.getInputs()[1]};
}

/// The halves of a weight of 2 * `half` rows, or of each of a stack of them, interleaved.
Value interleaved(OpBuilder &builder, Location loc, Value value, int64_t half, int64_t block,
                  bool stack) {
  auto [first, second] = stack ? std::pair<Value, Value>() : halves(value);
  if (!first)
    return llm::PermuteRowsOp::create(
        builder, loc, value, {rowsOf(value) / (2 * half), 2, half / block, block}, {0, 2, 1, 3});
  auto type = cast<RankedTensorType>(first.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = (shape.front() + block - 1) / block * block * 2;
  return llm::InterleaveRowsOp::create(builder, loc, type.clone(shape), first, second, block);
}

struct FuseSwiglu : ingot::impl::FuseSwigluPassBase<FuseSwiglu> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::PointwiseOp>([&](llm::PointwiseOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::PointwiseOp site) {
    if (site.getInputs().size() != 2)
      return;
    auto gate = site.getInputs()[0].getDefiningOp<llm::SliceColumnsOp>();
    auto up = site.getInputs()[1].getDefiningOp<llm::SliceColumnsOp>();
    if (!gate || !up || gate.getInput() != up.getInput())
      return; // not a function of two halves: no site of this pass
    auto product = gate.getInput().getDefiningOp<llm::MatmulOp>();
    int64_t half = llm::columnsOf(gate.getResult());
    if (!product || gate.getFirst() != 0 || static_cast<int64_t>(up.getFirst()) != half ||
        llm::columnsOf(product.getResult()) != 2 * half)
      return report.declined(site, "its operands are not the two halves of one product");
    if (!gate->hasOneUse() || !up->hasOneUse() || product->getResult(0).getNumUses() != 2)
      return report.declined(site, "a half has other users");
    bool stacked = !product.getOrder() && halves(product.getWeight()).first != Value();
    if (!llvm::all_of(product.getEpilogueOperands(),
                      [](Value operand) { return halves(operand).first != Value(); }))
      return report.declined(site, "an epilogue operand is not two stacked halves");
    // Halves of one weight have no padding between them.
    if (!stacked && (half % report.target().pairOffset() != 0 || product.expertRows() != 2 * half))
      return report.declined(site, "a half is no multiple of " +
                                       Twine(report.target().pairOffset()) + " rows");
    if (!report.accepts(engine::Fusion::Swiglu, site))
      return;
    report.applied(fuse(report, site, product));
    gate->erase();
    up->erase();
    product->erase();
  }

  /// Replaces `site` by a pair product.
  llm::MatmulOp fuse(FusionReport &report, llm::PointwiseOp site, llm::MatmulOp product) {
    OpBuilder builder(product);
    Location loc = product.getLoc();
    int64_t offset = report.target().pairOffset();
    int64_t half = llm::columnsOf(site.getResult());
    bool stack = bool(product.getOrder());
    auto interleave = [&](Value value) {
      return interleaved(builder, loc, value, half, offset, stack);
    };
    SmallVector<Value> operands;
    for (Value operand : product.getEpilogueOperands())
      llvm::append_values(operands, halves(operand).first, halves(operand).second);
    auto fused = llm::MatmulOp::create(builder, loc, site.getType(), product.getInput(),
                                       product.getEncodedWeight().mapRows(interleave, kFileOrder),
                                       product.getInputScales(), operands, product.getOrder(),
                                       product.getStarts(), builder.getI64IntegerAttr(offset));
    buildEpilogue(builder, fused, site, product);
    site.replaceAllUsesWith(fused.getResult());
    site->erase();
    return fused;
  }

  /// The pair epilogue: the product's own epilogue on each sum, its rounding, then `site`'s body.
  void buildEpilogue(OpBuilder &builder, llm::MatmulOp fused, llm::PointwiseOp site,
                     llm::MatmulOp product) {
    OpBuilder::InsertionGuard guard(builder);
    Type f32 = builder.getF32Type();
    size_t arguments = 2 + fused.getEpilogueOperands().size();
    Block *block = builder.createBlock(&fused.getEpilogue(), {}, SmallVector<Type>(arguments, f32),
                                       SmallVector<Location>(arguments, site.getLoc()));
    Type stored = product.getType().getElementType();
    IRMapping halves;
    for (unsigned member : {0u, 1u}) {
      Value value = block->getArgument(member);
      if (!product.getEpilogue().empty()) {
        IRMapping mapping;
        Block &inner = product.getEpilogue().front();
        mapping.map(inner.getArgument(0), value);
        for (unsigned i = 1; i < inner.getNumArguments(); ++i)
          mapping.map(inner.getArgument(i), block->getArgument(2 * i + member));
        value = cloneBody(builder, inner, mapping);
      }
      if (stored != f32) {
        value = arith::TruncFOp::create(builder, site.getLoc(), stored, value);
        value = arith::ExtFOp::create(builder, site.getLoc(), f32, value);
      }
      halves.map(site.getBody().getArgument(member), value);
    }
    Value result = cloneBody(builder, site.getBody().front(), halves);
    llm::YieldOp::create(builder, site.getLoc(), result);
  }

  /// Clones the operations of a scalar region; returns what it yields.
  Value cloneBody(OpBuilder &builder, Block &body, IRMapping &mapping) {
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    return mapping.lookupOrDefault(cast<llm::YieldOp>(body.getTerminator()).getValue());
  }
};

} // namespace
