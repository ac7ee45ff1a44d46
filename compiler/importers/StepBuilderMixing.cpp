// SPDX-License-Identifier: Apache-2.0
// Operations of StepBuilder.h that mix tokens, and what belongs to them: positions, caches, state.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/StepBuilder.h"
#include "compiler/importers/StoredScales.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmStateOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Value StepBuilder::encoderAttention(Value query, Value keys, Value values, Value sequences,
                                    Value offsets, int64_t heads, double scale) {
  return llm::EncoderAttentionOp::create(builder, location, query.getType(), query, keys, values,
                                         sequences, offsets, builder.getI64IntegerAttr(heads),
                                         builder.getF32FloatAttr(static_cast<float>(scale)),
                                         engine::SumsAttr());
}

Value StepBuilder::rope(Value input, Value frequencies, int64_t headDim, double factor,
                        ArrayRef<int64_t> axes) {
  return rotaryPositions ? ropeBy(rotaryPositions, input, frequencies, headDim, factor, axes)
                         : ropeBy(positions, input, frequencies, headDim, factor, {});
}

Value StepBuilder::ropeBy(Value positions, Value input, Value frequencies, int64_t headDim,
                          double factor, ArrayRef<int64_t> axes) {
  return llm::RopeOp::create(
      builder, location, input.getType(), input, positions, frequencies,
      builder.getI64IntegerAttr(headDim), builder.getF32FloatAttr(static_cast<float>(factor)),
      axes.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(axes), UnitAttr());
}

Value StepBuilder::ropePairs(Value input, Value frequencies, int64_t headDim, double factor) {
  return llm::RopeOp::create(builder, location, input.getType(), input, positions, frequencies,
                             builder.getI64IntegerAttr(headDim),
                             builder.getF32FloatAttr(static_cast<float>(factor)),
                             DenseI64ArrayAttr(), builder.getUnitAttr());
}

Value StepBuilder::tableOf(Value cache) const {
  return blockTables.at(*llm::kvGroupOf(cache.getType()));
}

void StepBuilder::kvAppend(Value keys, Value values, Value cache, const std::string &prefix) {
  auto append = llm::KvAppendOp::create(builder, location, keys, values, positions, tokenSequences,
                                        tableOf(cache), cache, Value());
  auto names = options.kvScales ? kvScaleNames(checkpoint, prefix) : std::nullopt;
  if (names)
    engine::setAttribute<llm::LlmDialect::StaticScalesAttrHelper>(
        append,
        builder.getDenseF32ArrayAttr({staticScale(names->keys), staticScale(names->values)}));
}

Value StepBuilder::causalConv(Value input, Value state, Value weight, Value bias) {
  return llm::CausalConvOp::create(builder, location, input.getType(), input, positions,
                                   sequenceOffsets, tableOf(state), state, weight, bias);
}

Value StepBuilder::gatedDeltaRule(Value input, Value decay, Value gate, Value state, Value logDecay,
                                  Value decayBias, const checkpoint::GatedDeltaNet &net) {
  // What q and k are normed with has an epsilon of its own in all models.
  return llm::GatedDeltaRuleOp::create(
      builder, location, activation(rowsOf(input), static_cast<int64_t>(net.valueColumns())), input,
      decay, gate, positions, sequenceOffsets, tableOf(state), state, logDecay, decayBias,
      builder.getI64IntegerAttr(static_cast<int64_t>(net.keyHeads)),
      builder.getI64IntegerAttr(static_cast<int64_t>(net.valueHeads)),
      builder.getF32FloatAttr(1e-6f));
}

Value StepBuilder::stateSpace(Value input, Value delta, Value state, Value logDecay,
                              Value deltaBias, Value skip, const checkpoint::StateSpace &space) {
  return llm::StateSpaceOp::create(
      builder, location, activation(rowsOf(input), static_cast<int64_t>(space.columns())), input,
      delta, skip, positions, sequenceOffsets, tableOf(state), state, logDecay, deltaBias,
      builder.getI64IntegerAttr(static_cast<int64_t>(space.groups)),
      builder.getI64IntegerAttr(static_cast<int64_t>(space.heads)),
      builder.getF32FloatAttr(static_cast<float>(space.least)),
      builder.getF32FloatAttr(static_cast<float>(space.most)));
}

Value StepBuilder::attention(Value query, Value cache, double scale, uint64_t window, bool isChunk,
                             double softcap, Value sinks, bool onlyBack) {
  auto f32 = [&](double value) { return builder.getF32FloatAttr(static_cast<float>(value)); };
  return llm::AttentionOp::create(
      builder, location, query.getType(), query, positions, tokenSequences, tableOf(cache), cache,
      sinks, onlyBack ? Value() : reaches, Value(), Value(), f32(scale),
      window ? builder.getI64IntegerAttr(static_cast<int64_t>(window)) : IntegerAttr(),
      window && isChunk ? builder.getUnitAttr() : UnitAttr(),
      softcap != 0 ? f32(softcap) : FloatAttr(), UnitAttr(), engine::SumsAttr());
}

void StepBuilder::latentAppend(Value latent, Value rotary, Value cache) {
  llm::LatentAppendOp::create(builder, location, latent, rotary, positions, tokenSequences,
                              tableOf(cache), cache);
}

Value StepBuilder::latentAttention(Value query, Value rotary, Value cache, Value selected,
                                   double scale) {
  return llm::AttentionOp::create(
      builder, location, query.getType(), query, positions, tokenSequences, tableOf(cache), cache,
      Value(), Value(), rotary, selected, builder.getF32FloatAttr(static_cast<float>(scale)),
      IntegerAttr(), UnitAttr(), FloatAttr(), UnitAttr(), engine::SumsAttr());
}

Value StepBuilder::selectPositions(Value query, Value weights, Value cache, uint64_t most,
                                   double scale) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, static_cast<int64_t>(most)},
                                    builder.getI32Type(),
                                    cast<RankedTensorType>(query.getType()).getEncoding());
  return llm::SelectPositionsOp::create(builder, location, type, query, weights, positions,
                                        tokenSequences, tableOf(cache), cache,
                                        builder.getF32FloatAttr(static_cast<float>(scale)));
}
