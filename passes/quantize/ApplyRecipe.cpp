// SPDX-License-Identifier: Apache-2.0
// Weight formats, rounding points of activations, and the type of the KV cache.
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
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

namespace {

struct ApplyRecipe : ingot::impl::ApplyRecipePassBase<ApplyRecipe> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([&](Operation *op) {
      if (Attribute format = op->removeAttr("llm.format"))
        formatWeight(op->getResult(0), format);
    });
    module.walk([&](llm::ConcatRowsOp op) {
      settleElement(op);
      stackEncoded(op);
    });
    for (auto function : module.getOps<func::FuncOp>()) {
      if (auto kv = module->getAttrOfType<TypeAttr>("llm.kv"))
        setKvElement(function, kv.getValue());
      function.walk([&](llm::KvAppendOp op) {
        auto scales = dyn_cast_or_null<DenseF32ArrayAttr>(op->removeAttr("llm.static_scales"));
        if (scales)
          setStaticScales(op, scales);
      });
      if (auto store = module->getAttrOfType<TypeAttr>("llm.store"))
        if (!store.getValue().isF32())
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
    Type element = encoding.getKind() == "fp8"
                       ? Type(Float8E4M3FNType::get(builder.getContext()))
                       : builder.getIntegerType(encoding.getKind() == "int4" ? 4 : 8);
    Type scale = encoding.getGroup() > 0 ? Type(builder.getBF16Type()) : f32;
    SmallVector<int64_t> groups{encoding.getGroup() == -1 ? 1 : type.getShape().front(),
                                llm::groupsOf(encoding, type.getShape().back())};
    Type zeros = encoding.getZeroPoints() ? RankedTensorType::get(groups, builder.getI8Type())
                                          : RankedTensorType();
    auto quantize =
        llm::QuantizeOp::create(builder, loc, type.clone(element),
                                RankedTensorType::get(groups, scale), zeros, value, encoding);
    auto dequantize =
        llm::DequantizeOp::create(builder, loc, type.clone(f32), quantize.getValues(),
                                  quantize.getScales(), quantize.getZeros(), Value(), encoding);
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
    widenTables(parts);
    llm::DequantizeOp first = parts.front();
    bool alike = first && llvm::all_of(parts, [&](llm::DequantizeOp part) {
                   return part && part.getEncoding() == first.getEncoding() &&
                          haveSameElements(part, first) &&
                          (!llm::hasCodeBook(first.getEncoding()) ||
                           isSameBook(part.getZeros(), first.getZeros()));
                 });
    if (!alike || (first.getEncoding().getGroup() < 0 && first.getZeros()))
      return; // FuseDequantize says what it cannot read
    OpBuilder builder(stack);
    auto stacked = [&](auto get) -> Value {
      return stackRows(builder, stack.getLoc(), llvm::map_to_vector(parts, get));
    };
    auto values = stacked([](llm::DequantizeOp part) -> Value { return part.getValues(); });
    auto scales = stacked([&](llm::DequantizeOp part) { return rowScales(builder, part); });
    Value zeros = first.getZeros();
    if (zeros && !llm::hasCodeBook(first.getEncoding()))
      zeros = stacked([](llm::DequantizeOp part) -> Value { return part.getZeros(); });
    Value supers = first.getSupers();
    if (llm::hasRowSupers(first.getEncoding()))
      supers = stacked([](llm::DequantizeOp part) -> Value { return part.getSupers(); });
    llm::EncodingAttr encoding = first.getEncoding();
    auto whole = llm::EncodingAttr::get(encoding.getContext(), encoding.getKind(),
                                        std::max<int64_t>(encoding.getGroup(), 0),
                                        encoding.getZeroPoints(), encoding.getScales());
    auto dequantize = llm::DequantizeOp::create(builder, stack.getLoc(), stack.getType(), values,
                                                scales, zeros, supers, whole);
    stack.replaceAllUsesWith(dequantize.getResult());
    stack->erase();
    for (llm::DequantizeOp part : parts)
      if (part->use_empty())
        part->erase();
  }

  /// Scales that name numbers of a table become these numbers where the parts' tables differ.
  static void widenTables(SmallVectorImpl<llm::DequantizeOp> &parts) {
    using Form = llm::ScaleForm;
    auto hasTable = [](llm::DequantizeOp part) {
      return part && part.getEncoding().getScales() == Form::Table;
    };
    if (!llvm::all_of(parts, hasTable) || llvm::all_of(parts, [&](llm::DequantizeOp part) {
          return isSameBook(part.getSupers(), parts.front().getSupers());
        }))
      return;
    for (llm::DequantizeOp &part : parts) {
      OpBuilder builder(part);
      Location loc = part.getLoc();
      Type f32 = builder.getF32Type();
      auto type = RankedTensorType::get({1, 1}, f32);
      Value one =
          llm::LiteralOp::create(builder, loc, type, "one", DenseElementsAttr::get(type, 1.0f));
      auto scaleType = cast<RankedTensorType>(part.getScales().getType()).clone(f32);
      Value scales = llm::DequantizeOp::create(
          builder, loc, scaleType, part.getScales(), one, part.getSupers(), Value(),
          llm::EncodingAttr::get(builder.getContext(), "codebook8", -1, false));
      llm::EncodingAttr encoding = part.getEncoding();
      auto widened = llm::DequantizeOp::create(
          builder, loc, part.getType(), part.getValues(), scales, part.getZeros(), Value(),
          llm::EncodingAttr::get(builder.getContext(), encoding.getKind(), encoding.getGroup(),
                                 encoding.getZeroPoints()));
      part.replaceAllUsesWith(widened.getResult());
      part.erase();
      part = widened;
    }
  }

  static bool haveSameElements(llm::DequantizeOp a, llm::DequantizeOp b) {
    return getElementTypeOrSelf(a.getValues()) == getElementTypeOrSelf(b.getValues()) &&
           getElementTypeOrSelf(a.getScales()) == getElementTypeOrSelf(b.getScales());
  }
  /// The scales of `part`; one for the whole weight for each of its rows.
  static Value rowScales(OpBuilder &builder, llm::DequantizeOp part) {
    if (part.getEncoding().getGroup() >= 0)
      return part.getScales();
    int64_t rows = cast<RankedTensorType>(part.getType()).getDimSize(0);
    auto type = cast<RankedTensorType>(part.getScales().getType());
    return llm::RepeatRowsOp::create(builder, part.getLoc(), type.clone({rows, 1}),
                                     part.getScales(), rows);
  }

  void setKvElement(func::FuncOp function, Type element) {
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<llm::KvType>(argument.getType()))
        argument.setType(llm::KvType::get(type.getContext(), type.getHeads(), type.getHeadDim(),
                                          element, type.getBlockTokens()));
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
    if (!isa<llm::EmbedOp, llm::RmsNormOp, llm::MatmulOp, llm::PointwiseOp, llm::RopeOp,
             llm::AttentionOp, llm::CombineOp>(op))
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
