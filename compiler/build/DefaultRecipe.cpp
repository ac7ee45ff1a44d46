// SPDX-License-Identifier: Apache-2.0
// By what the checkpoint stores, and what each target's products are fast in.
#include "compiler/build/DefaultRecipe.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::QuantizationConfig;
using codegen::FastProducts;
using recipe::NumberFormat;

NumberFormat compiler::ownType(const checkpoint::Checkpoint &model) {
  std::map<DType, uint64_t> bytes;
  for (const checkpoint::Tensor &tensor : model.tensors())
    bytes[tensor.dtype] += tensor.bytes;
  DType own = model.config().declaredType.value_or(DType::F32);
  uint64_t most = 0;
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    if (uint64_t elements = bytes[type] * 8 / checkpoint::dtypeUnit(type).bits; elements > most) {
      own = type;
      most = elements;
    }
  return own == DType::BF16  ? NumberFormat::BF16
         : own == DType::F16 ? NumberFormat::F16
                             : NumberFormat::F32;
}

/// Whether matrices have fewer than 16 bits.
static bool isQuantized(const checkpoint::Checkpoint &model) {
  return model.quantization().isQuantized() ||
         llvm::any_of(model.tensors(), [](const checkpoint::Tensor &tensor) {
           return checkpoint::ggmlEncoding(tensor.dtype) != nullptr;
         });
}

/// `reason` is why nothing else is chosen.
static DefaultRecipe exact(std::string reason) {
  return {recipe::Recipe::defaults(), "exact", std::move(reason)};
}

/// Activations and KV cache of 16 bits. f16 is too small in range for some models: it is for those
/// that were trained for it, of which the type of a GGUF file says nothing.
static DefaultRecipe sixteenBit(bool inF16, std::string reason) {
  recipe::Recipe recipe;
  recipe.activations.compute = recipe.kvCache = inF16 ? NumberFormat::F16 : NumberFormat::BF16;
  return {std::move(recipe), "activations and KV cache of " + std::string(inF16 ? "f16" : "bf16"),
          std::move(reason)};
}

static DefaultRecipe recipeFor(const checkpoint::Checkpoint &model, bool isFile,
                               FastProducts fast) {
  if (model.quantization().activations != QuantizationConfig::Activations::AsStored)
    return exact("what the checkpoint was quantized for");
  if (fast == FastProducts::Any)
    return exact("no target is fast in anything else");
  NumberFormat own = ownType(model);
  bool inF16 = own == NumberFormat::F16 && !isFile;
  bool quantized = isQuantized(model);
  if (quantized && fast == FastProducts::Int8) {
    DefaultRecipe chosen = sixteenBit(false, "what CPUs are fast in, for quantized weights");
    chosen.recipe.activations = {NumberFormat::Int8, NumberFormat::BF16, 32};
    chosen.name = "activations of int8 in groups of 32, KV cache of bf16";
    return chosen;
  }
  if (quantized)
    return sixteenBit(inF16, "what GPUs are fast in, for quantized weights");
  if (own != NumberFormat::F32)
    return sixteenBit(inF16, isFile ? "as weights of 16 bits" : "the checkpoint's own type");
  if (fast == FastProducts::Int8)
    return exact("the checkpoint is in f32");
  DefaultRecipe chosen = sixteenBit(false, "GPUs are slow in f32");
  chosen.name = "everything in bf16";
  chosen.recipe.weights = {{"*", {NumberFormat::BF16}}};
  return chosen;
}

Expected<DefaultRecipe> compiler::defaultRecipe(const checkpoint::Checkpoint &model, bool isFile,
                                                llvm::ArrayRef<BuildTarget> targets) {
  std::optional<DefaultRecipe> chosen;
  llvm::StringRef first;
  for (const auto &[target, attribute] : targets) {
    if (target->fastProducts() == FastProducts::Any)
      continue;
    DefaultRecipe own = recipeFor(model, isFile, target->fastProducts());
    if (chosen && chosen->recipe.settled(ownType(model)) != own.recipe.settled(ownType(model)))
      return Error{
          "INGOT-E2104",
          "the default recipes of " + first.str() + " (" + chosen->name + ") and " +
              attribute.getName().str() + " (" + own.name + ") differ, and an engine has one",
          "--target", "choose with --recipe, such as `--recipe bf16`, or build two engines"};
    if (!chosen) {
      chosen = std::move(own);
      first = attribute.getName();
    }
  }
  return chosen ? *std::move(chosen) : recipeFor(model, isFile, FastProducts::Any);
}
