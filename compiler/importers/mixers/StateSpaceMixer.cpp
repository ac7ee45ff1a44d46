// SPDX-License-Identifier: Apache-2.0
// A selective state space behind a short convolution, its result gated and normed (Mamba-2).
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"
#include "dialects/llm/LlmStateOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::StateSpace;

/// Tokens of a block of both states, which so are one group.
static constexpr int64_t kChunk = 64;

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &, const StateSpace &space) {
  auto signedOf = [](uint64_t number) { return static_cast<int64_t>(number); };
  auto state = [&](ArrayRef<int64_t> row) {
    return llm::StateType::get(context, RankedTensorType::get(row, Float32Type::get(context)),
                               kChunk);
  };
  return {state({signedOf(space.taps) - 1, signedOf(space.mixedColumns())}),
          state({llm::GatedDeltaRuleOp::stateElements(signedOf(space.groups), signedOf(space.heads),
                                                      signedOf(space.stateDim),
                                                      signedOf(space.headDim), kChunk)})};
}

Value compiler::mixTokens(Modules &model, const StateSpace &space, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  StepBuilder &step = model.step;
  const std::string module = std::string(space.module) + ".", name = prefix + module;
  const auto columns = static_cast<int64_t>(space.columns()),
             mixedColumns = static_cast<int64_t>(space.mixedColumns()),
             heads = static_cast<int64_t>(space.heads), taps = static_cast<int64_t>(space.taps);
  auto setSite = [&](const char *part) { step.setSite(Modules::siteOf(name) + part); };
  auto ofHeads = [&](const char *part) { return step.weight(name + part, {heads}); };
  Value all = model.project(x, prefix, module + "in_proj", columns + mixedColumns + heads,
                            model.hidden, space.bias);
  setSite("conv1d");
  Value z = step.sliceColumns(all, 0, columns),
        weight = step.reshape(step.weight(name + "conv1d.weight", {mixedColumns, 1, taps}),
                              {mixedColumns, taps}),
        bias = space.convBias ? step.weight(name + "conv1d.bias", {mixedColumns}) : Value();
  Value mixed = step.activated(
      {checkpoint::Activation::Silu},
      step.causalConv(step.sliceColumns(all, columns, mixedColumns), caches[0], weight, bias));
  setSite("state_space");
  Value delta = step.sliceColumns(all, columns + mixedColumns, heads);
  Value y = step.stateSpace(mixed, delta, caches[1], ofHeads("A_log"), ofHeads("dt_bias"),
                            ofHeads("D"), space);
  setSite("norm");
  Value gated = step.activatedTimes({checkpoint::Activation::Silu}, z, y);
  Value normed = step.norm(gated, /*centered=*/false, Value(), Value(), model.config.normEpsilon,
                           columns / static_cast<int64_t>(space.groups));
  normed = step.times(normed, step.weight(name + "norm.weight", {columns}));
  return model.project(normed, prefix, module + "out_proj", model.hidden, columns, space.bias);
}
