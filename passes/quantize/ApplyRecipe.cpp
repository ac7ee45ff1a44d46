// SPDX-License-Identifier: Apache-2.0
// Weight formats, rounding points of activations, and the type of the KV cache.
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/StackRows.h"
#include "passes/quantize/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYRECIPEPASS
#include "passes/quantize/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using llm::EncodedWeight;
using llm::LlmDialect;

namespace {

/// An attribute of `op`, which loses it; null without.
template <class Helper> auto taken(Operation *op) {
  auto value = engine::attributeOf<Helper>(op);
  if (value)
    Helper(op->getContext()).removeAttr(op);
  return value;
}

struct ApplyRecipe : ingot::impl::ApplyRecipePassBase<ApplyRecipe> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([&](Operation *op) {
      if (Attribute format = taken<LlmDialect::FormatAttrHelper>(op))
        formatWeight(op->getResult(0), format);
    });
    module.walk([&](llm::ConcatRowsOp op) {
      settleElement(op);
      stackEncoded(op);
    });
    for (auto function : module.getOps<func::FuncOp>()) {
      if (auto kv = engine::attributeOf<LlmDialect::KvAttrHelper>(module))
        setKvElement(function, kv.getValue());
      function.walk([&](llm::KvAppendOp op) {
        if (auto scales = taken<LlmDialect::StaticScalesAttrHelper>(op))
          setStaticScales(op, scales);
      });
      auto store = taken<LlmDialect::StoreAttrHelper>(function); // a program's own
      if (!store)
        store = engine::attributeOf<LlmDialect::StoreAttrHelper>(module);
      if (store && !store.getValue().isF32())
        roundActivations(function, store.getValue());
    }
  }

  /// Replaces a weight by its value in the format it is annotated with.
  void formatWeight(Value weight, Attribute format) {
    OpBuilder builder(weight.getContext());
    builder.setInsertionPointAfterValue(weight);
    auto encoding = dyn_cast<llm::EncodingAttr>(format);
    Type element = encoding ? builder.getF32Type() : cast<TypeAttr>(format).getValue();
    auto type = cast<RankedTensorType>(weight.getType());
    Value value = weight;
    SmallPtrSet<Operation *, 4> made;
    if (type.getElementType() != element) {
      auto convert = llm::ConvertOp::create(builder, weight.getLoc(), type.clone(element), value);
      made.insert(convert);
      value = convert.getResult();
    }
    if (encoding)
      value = encode(builder, weight.getLoc(), value, encoding, made);
    weight.replaceAllUsesExcept(value, made);
  }

  /// quantize and dequantize with `encoding`.
  Value encode(OpBuilder &builder, Location loc, Value value, llm::EncodingAttr encoding,
               SmallPtrSetImpl<Operation *> &made) {
    auto type = cast<RankedTensorType>(value.getType());
    Type f32 = builder.getF32Type();
    Type element = engine::typeFor(builder.getContext(), encoding.facts().element());
    Type scale = encoding.getGroup() > 0 ? Type(builder.getBF16Type()) : f32;
    PartShape shape = encoding.facts().scaleShape(type.getDimSize(0), type.getShape().back());
    SmallVector<int64_t> groups{shape.rows, shape.columns};
    Type zeros = encoding.getZeroPoints() ? RankedTensorType::get(groups, builder.getI8Type())
                                          : RankedTensorType();
    auto quantize =
        llm::QuantizeOp::create(builder, loc, type.clone(element),
                                RankedTensorType::get(groups, scale), zeros, value, encoding);
    EncodedWeight encoded{
        quantize.getValues(), quantize.getScales(), quantize.getZeros(), {}, encoding};
    auto dequantize = llm::DequantizeOp::create(builder, loc, type.clone(f32), encoded);
    made.insert(quantize);
    made.insert(dequantize);
    return dequantize.getResult();
  }

  /// A stack has its parts' type; f32 where they have several.
  static void settleElement(llm::ConcatRowsOp stack) {
    Type element = getElementTypeOrSelf(stack.getInputs().front());
    Type f32 = Float32Type::get(stack.getContext());
    if (llvm::any_of(stack.getInputs(),
                     [&](Value part) { return getElementTypeOrSelf(part) != element; })) {
      OpBuilder builder(stack);
      element = f32;
      for (OpOperand &part : stack->getOpOperands())
        if (auto type = cast<RankedTensorType>(part.get().getType()); type.getElementType() != f32)
          part.set(llm::ConvertOp::create(builder, stack.getLoc(), type.clone(f32), part.get()));
    }
    stack.getResult().setType(cast<RankedTensorType>(stack.getType()).clone(element));
  }

  /// A stack of weights in one encoding becomes a weight in it: stacked values, scales and zeros.
  static void stackEncoded(llm::ConcatRowsOp stack) {
    SmallVector<llm::DequantizeOp> parts;
    for (Value input : stack.getInputs())
      parts.push_back(input.getDefiningOp<llm::DequantizeOp>());
    if (!llvm::all_of(parts, [](llm::DequantizeOp part) { return bool(part); }))
      return; // FuseDequantize says what it cannot read
    auto weights =
        llvm::map_to_vector(parts, [](llm::DequantizeOp part) { return part.getEncodedWeight(); });
    OpBuilder builder(stack);
    widenTables(builder, weights);
    bool alike = llvm::all_of(weights, [&](const EncodedWeight &weight) {
      return stackObstacle(weights.front(), weight).empty();
    });
    if (!alike || (weights.front().extent() == kTensorScale && weights.front().zeros))
      return;
    for (EncodedWeight &weight : weights)
      weight = withRowScales(builder, stack.getLoc(), weight);
    auto dequantize = llm::DequantizeOp::create(builder, stack.getLoc(), stack.getType(),
                                                stackRows(builder, stack.getLoc(), weights));
    stack.replaceAllUsesWith(dequantize.getResult());
    stack->erase();
    for (llm::DequantizeOp part : parts)
      if (part->use_empty())
        part->erase();
  }

  /// Scales that name numbers of a table become these numbers where the weights' tables differ.
  static void widenTables(OpBuilder &builder, MutableArrayRef<EncodedWeight> weights) {
    auto hasTable = [](const EncodedWeight &weight) {
      return weight.facts().scales == kTableScales;
    };
    if (!llvm::all_of(weights, hasTable) || llvm::all_of(weights, [&](const EncodedWeight &weight) {
          return isSameTable(weight.superScales, weights.front().superScales);
        }))
      return;
    Type f32 = builder.getF32Type();
    auto type = RankedTensorType::get({1, 1}, f32);
    for (EncodedWeight &weight : weights) {
      Location loc = weight.values.getLoc();
      Value one =
          llm::LiteralOp::create(builder, loc, type, "one", DenseElementsAttr::get(type, 1.0f));
      EncodedWeight scales{weight.scales,
                           one,
                           weight.superScales,
                           {},
                           encodingOf(builder, {EncodingKind::CodeBook8, -1})};
      auto scaleType = cast<RankedTensorType>(weight.scales.getType()).clone(f32);
      Encoding plain = weight.facts();
      plain.scales = kPlainScales;
      weight.scales = llm::DequantizeOp::create(builder, loc, scaleType, scales);
      weight.superScales = {};
      weight.encoding = encodingOf(builder, plain);
    }
  }

  static llm::EncodingAttr encodingOf(OpBuilder &builder, Encoding encoding) {
    return llm::EncodingAttr::get(builder.getContext(), encoding);
  }

  /// The weight with a scale for each of its rows, if it has one for all.
  static EncodedWeight withRowScales(OpBuilder &builder, Location loc, EncodedWeight weight) {
    if (weight.extent() != kTensorScale)
      return weight;
    int64_t rows = cast<RankedTensorType>(weight.values.getType()).getDimSize(0);
    auto type = cast<RankedTensorType>(weight.scales.getType()).clone({rows, 1});
    weight.scales = llm::RepeatRowsOp::create(builder, loc, type, weight.scales, rows);
    Encoding byRow = weight.facts();
    byRow.group = 0;
    weight.encoding = encodingOf(builder, byRow);
    return weight;
  }

  void setKvElement(func::FuncOp function, Type element) {
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<llm::KvType>(argument.getType()))
        argument.setType(type.withElement(element));
    function.setType(FunctionType::get(function.getContext(),
                                       function.getBody().front().getArgumentTypes(),
                                       function.getResultTypes()));
  }

  static void setStaticScales(llm::KvAppendOp append, ArrayRef<float> scales) {
    OpBuilder builder = OpBuilder::atBlockBegin(append->getBlock());
    auto type = RankedTensorType::get({2}, builder.getF32Type());
    append.getStaticScalesMutable().assign(
        llm::LiteralOp::create(builder, append.getLoc(), type, siteOf(append) + ".kv_scales",
                               DenseElementsAttr::get(type, scales)));
  }

  /// Whether the result of `op` is a value that a step stores. A product that only feeds its own
  /// bias is not, nor are results of the program (logits).
  static bool isStored(Operation &op) {
    if (!op.hasTrait<llm::StoresResult>())
      return false;
    for (Operation *user : op.getResult(0).getUsers()) {
      if (isa<func::ReturnOp>(user))
        return false;
      auto pointwise = dyn_cast<llm::PointwiseOp>(user);
      if (isa<llm::MatmulOp>(op) && pointwise && op.getResult(0).hasOneUse() &&
          llvm::all_of(pointwise.getInputs().drop_front(), isWeight))
        return false;
    }
    return true;
  }

  void roundActivations(func::FuncOp function, Type store) {
    OpBuilder builder(function.getContext());
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
      if (op.hasTrait<llm::MovesElements>()) {
        auto type = cast<RankedTensorType>(op.getResult(0).getType());
        op.getResult(0).setType(llm::withElement(type, getElementTypeOrSelf(op.getOperand(0))));
      }
      if (!isStored(op))
        continue;
      builder.setInsertionPointAfter(&op);
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      auto round = llm::RoundOp::create(builder, op.getLoc(), llm::withElement(type, store),
                                        op.getResult(0));
      op.getResult(0).replaceAllUsesExcept(round.getResult(), round);
    }
  }
};

} // namespace
