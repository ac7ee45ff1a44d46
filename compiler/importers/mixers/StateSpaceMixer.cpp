// SPDX-License-Identifier: Apache-2.0
// A selective state space behind a short convolution, its result gated and normed (Mamba-2).
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"
#include "dialects/llm/LlmStateOps.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::StateSpace;

CacheTypes compiler::linearAttentionCaches(MLIRContext *context, uint64_t taps, uint64_t columns,
                                           const LinearHeads &heads) {
  constexpr int64_t chunk = 64;
  auto signedOf = [](uint64_t number) { return static_cast<int64_t>(number); };
  auto state = [&](ArrayRef<int64_t> row) {
    return llm::StateType::get(context, RankedTensorType::get(row, Float32Type::get(context)),
                               chunk);
  };
  return {state({signedOf(taps) - 1, signedOf(columns)}),
          state({llm::GatedDeltaRuleOp::stateElements(signedOf(heads.keys), signedOf(heads.values),
                                                      signedOf(heads.keyDim),
                                                      signedOf(heads.valueDim), chunk)})};
}

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &, const StateSpace &space) {
  return linearAttentionCaches(context, space.taps, space.mixedColumns(),
                               {space.groups, space.heads, space.stateDim, space.headDim});
}

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &model,
                              const checkpoint::AttentionAndStateSpace &both) {
  CacheTypes types = cachesOf(context, model, both.attention);
  llvm::append_range(types, cachesOf(context, model, both.space));
  return types;
}

/// The columns of in_proj's product, each part times its factor.
static Value scaledParts(StepBuilder &step, Value all, const StateSpace &space,
                         const std::string &name) {
  if (llvm::all_of(space.factors, [](double factor) { return factor == 1; }))
    return all;
  const uint64_t ofGroups = space.groups * space.stateDim;
  const std::array<uint64_t, 5> columns = {space.columns(), space.columns(), ofGroups, ofGroups,
                                           space.heads};
  std::vector<float> factors;
  for (auto [count, factor] : llvm::zip_equal(columns, space.factors))
    factors.insert(factors.end(), count, static_cast<float>(factor));
  return step.times(all, step.literal(name, factors));
}

/// `y`, gated by `z` and normed.
static Value gatedAndNormed(Modules &model, const StateSpace &space, Value y, Value z,
                            const std::string &name) {
  StepBuilder &step = model.step;
  const auto columns = static_cast<int64_t>(space.columns());
  auto gated = [&](Value x) { return step.activatedTimes({checkpoint::Activation::Silu}, z, x); };
  auto normed = [&](Value x) {
    Value plain = step.norm(x, /*centered=*/false, Value(), Value(), model.config.normEpsilon,
                            columns / static_cast<int64_t>(space.groups));
    return step.times(plain, step.weight(name + "norm.weight", {columns}));
  };
  switch (space.norm) {
  case checkpoint::StateSpaceNorm::GateFirst:
    return normed(gated(y));
  case checkpoint::StateSpaceNorm::NormFirst:
    return gated(normed(y));
  case checkpoint::StateSpaceNorm::None:
    return gated(y);
  }
  llvm_unreachable("a norm");
}

Value compiler::mixTokens(Modules &model, const StateSpace &space, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  StepBuilder &step = model.step;
  const std::string module = std::string(space.module) + ".", name = prefix + module;
  const auto columns = static_cast<int64_t>(space.columns()),
             mixedColumns = static_cast<int64_t>(space.mixedColumns()),
             heads = static_cast<int64_t>(space.heads);
  auto setSite = [&](const char *part) { step.setSite(Modules::siteOf(name) + part); };
  auto ofHeads = [&](const char *part) { return step.weight(name + part, {heads}); };
  auto decayOf = [](ArrayRef<float> stored, int64_t head) { return std::log(-stored[head]); };
  Value all = model.project(step.multiply(x, space.inputFactor), prefix, module + "in_proj",
                            columns + mixedColumns + heads, model.hidden, space.bias);
  all = scaledParts(step, all, space, (Modules::siteOf(name) + "factors").str());
  setSite("conv1d");
  Value z = step.sliceColumns(all, 0, columns);
  Value mixed =
      step.activated({checkpoint::Activation::Silu},
                     model.convolution(step.sliceColumns(all, columns, mixedColumns), caches[0],
                                       name + "conv1d", space.taps, space.convBias));
  setSite("state_space");
  Value delta = step.sliceColumns(all, columns + mixedColumns, heads);
  Value decay = space.expDecay ? step.computed(name + "A_log", heads, decayOf) : ofHeads("A_log");
  Value y =
      step.stateSpace(mixed, delta, caches[1], decay, ofHeads("dt_bias"), ofHeads("D"), space);
  setSite("norm");
  Value result = gatedAndNormed(model, space, y, z, name);
  return model.project(result, prefix, module + "out_proj", model.hidden, columns,
                       space.outputBias);
}

Value compiler::mixTokens(Modules &model, const checkpoint::AttentionAndStateSpace &both, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  StepBuilder &step = model.step;
  const size_t own = caches.size() - 2;
  Value attended = mixTokens(model, both.attention, step.multiply(x, both.attentionInput), prefix,
                             caches.take_front(own));
  Value mixed = mixTokens(model, both.space, x, prefix, caches.drop_front(own));
  step.setSite((Modules::siteOf(prefix) + "mixed").str());
  return step.add(step.multiply(attended, both.attentionOutput),
                  step.multiply(mixed, both.spaceOutput));
}
