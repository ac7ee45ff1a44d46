// SPDX-License-Identifier: Apache-2.0
// A gated delta net: linear attention with a matrix as state of each head, behind a short
// convolution, and its result normed and gated.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"
#include "dialects/llm/LlmStateOps.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::GatedDeltaNet;

namespace {

constexpr const char *kModule = "linear_attn";

/// One layer's.
class GatedDeltaBuilder {
public:
  GatedDeltaBuilder(Modules &model, const GatedDeltaNet &net, const std::string &prefix)
      : model(model), step(model.step), net(net), prefix(prefix), name(prefix + kModule + "."),
        keyHeads(static_cast<int64_t>(net.keyHeads)),
        valueHeads(static_cast<int64_t>(net.valueHeads)), keyDim(static_cast<int64_t>(net.keyDim)),
        group(valueHeads / keyHeads), valueDim(static_cast<int64_t>(net.valueDim)),
        keys(static_cast<int64_t>(net.keyColumns())),
        values(static_cast<int64_t>(net.valueColumns())) {}

  Value build(Value x, Value convState, Value ruleState) {
    Inputs inputs;
    if (net.fusedByHeads)
      takeFused(x, inputs);
    else
      takePlain(x, inputs);
    takeGates(x, inputs);
    setSite("conv1d");
    Value mixed = step.activated(
        {checkpoint::Activation::Silu},
        model.convolution(inputs.qkv, convState, name + "conv1d", net.taps, /*hasBias=*/false));
    setSite("delta_rule");
    mixed =
        step.gatedDeltaRule(inOrder(mixed), inputs.a, inputs.b, ruleState,
                            numberOfHeads("A_log", net.expDecay), numberOfHeads("dt_bias"), net);
    setSite("norm");
    // Of plain factors, also where those of other norms are stored less 1.
    mixed = step.norm(mixed, /*centered=*/false, step.weight(name + "norm.weight", {valueDim}),
                      Value(), model.config.normEpsilon, valueDim);
    if (net.tiledHeads)
      mixed = step.gatherColumns(mixed, "linear_attn.tiled_columns",
                                 columnsOfHeads(0, keyHeads, group));
    mixed = step.activatedTimes({checkpoint::Activation::Silu}, inputs.z, mixed);
    return project(mixed, "out_proj", model.hidden, values);
  }

private:
  /// [q|k|v], each of all its heads, z, and a and b of each value head.
  struct Inputs {
    Value qkv, z, b, a;
  };

  void takePlain(Value x, Inputs &inputs) {
    inputs.qkv = project(x, "in_proj_qkv", 2 * keys + values, model.hidden);
    inputs.z = project(x, "in_proj_z", values, model.hidden);
  }

  /// Digits of a row's index do not say where it belongs, as q and v of a key head have different
  /// numbers of rows: columns of the product are put in order. The stored matrix stays one.
  void takeFused(Value x, Inputs &inputs) {
    Value all = project(x, "in_proj_qkvz", 2 * keys + 2 * values, model.hidden);
    SmallVector<int32_t> qkv, z;
    appendColumns(qkv, 0, keyDim);
    appendColumns(qkv, keyDim, keyDim);
    appendColumns(qkv, 2 * keyDim, group * valueDim);
    appendColumns(z, 2 * keyDim + group * valueDim, group * valueDim);
    inputs.qkv = step.gatherColumns(all, "linear_attn.qkv_columns", qkv);
    inputs.z = step.gatherColumns(all, "linear_attn.z_columns", z);
  }

  void takeGates(Value x, Inputs &inputs) {
    if (!net.gatesByHeads) {
      auto tiled = [&](Value weight) {
        return net.tiledHeads ? step.permuteRows(weight, {group, keyHeads}, {1, 0}) : weight;
      };
      inputs.b = project(x, "in_proj_b", valueHeads, model.hidden, tiled);
      inputs.a = project(x, "in_proj_a", valueHeads, model.hidden, tiled);
      return;
    }
    Value both = project(x, "in_proj_ba", 2 * valueHeads, model.hidden, [&](Value weight) {
      return step.permuteRows(weight, {keyHeads, 2, group}, {1, 0, 2});
    });
    inputs.b = step.sliceColumns(both, 0, valueHeads);
    inputs.a = step.sliceColumns(both, valueHeads, valueHeads);
  }

  /// [q|k|v] with the value heads of each key head behind each other.
  Value inOrder(Value qkv) {
    if (!net.tiledHeads)
      return qkv;
    SmallVector<int32_t> columns;
    for (int64_t column = 0; column < 2 * keys; ++column)
      columns.push_back(static_cast<int32_t>(column));
    columns.append(columnsOfHeads(2 * keys, group, keyHeads));
    return step.gatherColumns(qkv, "linear_attn.grouped_columns", columns);
  }

  /// Those of value heads from `first` on, `outer` by `inner` of them, in the order [inner, outer].
  SmallVector<int32_t> columnsOfHeads(int64_t first, int64_t outer, int64_t inner) const {
    SmallVector<int32_t> columns;
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t column = 0; column < valueDim; ++column)
          columns.push_back(static_cast<int32_t>(first + (o * inner + i) * valueDim + column));
    return columns;
  }

  /// A number of each value head. `isExp`: -e^number is stored.
  Value numberOfHeads(const char *part, bool isExp = false) {
    if (!net.tiledHeads && !isExp)
      return step.weight(name + part, {valueHeads});
    return step.computed(name + part, valueHeads, [&](ArrayRef<float> stored, int64_t head) {
      const float number = stored[net.tiledHeads ? head % group * keyHeads + head / group : head];
      return isExp ? std::log(-number) : number;
    });
  }

  /// Of each key head's columns of in_proj_qkvz `count` from `first` on.
  void appendColumns(SmallVector<int32_t> &columns, int64_t first, int64_t count) const {
    const int64_t each = 2 * (keys + values) / keyHeads;
    for (int64_t head = 0; head < keyHeads; ++head)
      for (int64_t column = first; column < first + count; ++column)
        columns.push_back(static_cast<int32_t>(head * each + column));
  }

  Value project(Value x, const char *part, int64_t outputs, int64_t inputs,
                function_ref<Value(Value)> ordered = nullptr) {
    return model.project(x, prefix, std::string(kModule) + "." + part, outputs, inputs,
                         /*hasBias=*/false, ordered);
  }

  void setSite(const char *part) { step.setSite(Modules::siteOf(name) + part); }

  Modules &model;
  StepBuilder &step;
  const GatedDeltaNet &net;
  const std::string &prefix; ///< of the layer ("model.layers.0.")
  const std::string name;    ///< with the module ("model.layers.0.linear_attn.")
  const int64_t keyHeads, valueHeads, keyDim;
  const int64_t group; ///< value heads of a key head
  const int64_t valueDim;
  const int64_t keys, values; ///< columns of q or k, and of v or z
};

} // namespace

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &, const GatedDeltaNet &net) {
  return linearAttentionCaches(context, net.taps, 2 * net.keyColumns() + net.valueColumns(),
                               {net.keyHeads, net.valueHeads, net.keyDim, net.valueDim});
}

Value compiler::mixTokens(Modules &model, const GatedDeltaNet &net, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  return GatedDeltaBuilder(model, net, prefix).build(x, caches[0], caches[1]);
}
