// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention, with rotary positions or without.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/VisionPlan.h"
#include "compiler/importers/RotaryTable.h"
#include "compiler/importers/mixers/Mixers.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Attention;
using checkpoint::QueryKeyNorm;

namespace {

/// One layer's.
class AttentionBuilder {
public:
  AttentionBuilder(Modules &model, const Attention &attention, const std::string &prefix)
      : model(model), step(model.step), names(model.names), attention(attention), prefix(prefix),
        module(std::string(names.attention) + "."), heads(static_cast<int64_t>(attention.heads)),
        kvHeads(static_cast<int64_t>(attention.kvHeads)),
        headDim(static_cast<int64_t>(attention.headDim)) {}

  Value build(Value x, Value cache) {
    auto [q, k, v, gate] = queryKeyValue(x);
    if (!attention.normsRotated)
      normPair(q, k);
    step.setSite(Modules::siteOf(prefix) + names.attention);
    if (attention.rope)
      rotate(q, k, *attention.rope);
    if (attention.normsRotated)
      normPair(q, k);
    step.setSite(Modules::siteOf(prefix) + names.attention);
    q = model.tempered(q, attention.temperature);
    if (k)
      step.kvAppend(k, v, cache, prefix + module);
    double scale =
        attention.scaling != 0 ? attention.scaling : 1 / std::sqrt(static_cast<double>(headDim));
    Value sinks = attention.sinks ? step.weight(prefix + module + std::string(names.sinks), {heads})
                                  : Value();
    const checkpoint::VisionPlan *vision = model.config.vision.get();
    const bool onlyBack = vision && vision->images.onlyInWindows && attention.slidingWindow == 0;
    Value mixed = step.attention(q, cache, scale, attention.slidingWindow, attention.windowIsChunk,
                                 attention.softcap, sinks, onlyBack);
    if (isNarrow())
      mixed = step.gatherColumns(mixed, "attention.value_columns",
                                 headColumns(heads, headDim, valueDim()));
    if (gate)
      mixed = step.gated(mixed, gate);
    return model.project(mixed, prefix, module + std::string(names.output), model.hidden,
                         heads * valueDim(), attention.outputBias);
  }

private:
  /// Layers that slide may rotate otherwise.
  void rotate(Value &q, Value &k, uint32_t rope) {
    const RotaryTable rotary =
        rotaryTable(model.config.ropes[rope], attention.headDim, model.maxContext);
    Value table =
        step.literal(rope == 0 ? "rope.inv_freq" : "rope.sliding_inv_freq", rotary.frequencies);
    const checkpoint::VisionPlan *vision = model.config.vision.get();
    const auto axes = vision ? vision->axesOf(rotary.frequencies.size()) : std::vector<int64_t>();
    q = step.rope(q, table, headDim, rotary.factor, axes);
    if (k)
      k = step.rope(k, table, headDim, rotary.factor, axes);
  }

  /// k and v are null where an earlier layer's are read, and the gate where there is none.
  struct QueryKeyValue {
    Value q, k, v, gate = {};
  };

  QueryKeyValue queryKeyValue(Value x) {
    const int64_t queryColumns = heads * headDim, kvColumns = kvHeads * headDim;
    const bool bias = attention.bias;
    auto named = [&](std::string_view part) { return module + std::string(part); };
    if (attention.fusedQkv) {
      auto byParts = [&](Value weight) {
        return attention.fusedByHeads ? step.permuteRows(weight, {heads, 3, headDim}, {1, 0, 2})
                                      : weight;
      };
      Value qkv = model.project(x, prefix, named(names.queryKeyValue), queryColumns + 2 * kvColumns,
                                model.hidden, bias, byParts);
      return {step.sliceColumns(qkv, 0, queryColumns),
              step.sliceColumns(qkv, queryColumns, kvColumns),
              step.sliceColumns(qkv, queryColumns + kvColumns, kvColumns)};
    }
    auto byPairs = [&](Value weight) {
      return attention.ropeInterleaved ? byHalves(weight) : weight;
    };
    auto gateBehind = [&](Value weight) {
      return step.permuteRows(weight, {heads, 2, headDim}, {1, 0, 2});
    };
    Value q, gate;
    if (attention.outputGate) {
      Value both = model.project(x, prefix, named(names.query), 2 * queryColumns, model.hidden,
                                 bias, gateBehind);
      q = step.sliceColumns(both, 0, queryColumns);
      gate = step.sliceColumns(both, queryColumns, queryColumns);
    } else {
      q = model.project(x, prefix, named(names.query), queryColumns, model.hidden, bias, byPairs);
    }
    if (attention.cacheLayer)
      return {q, Value(), Value(), gate};
    Value k = model.project(x, prefix, named(names.key), kvColumns, model.hidden, bias, byPairs),
          v = attention.valueIsKey ? k
                                   : model.project(x, prefix, named(names.value),
                                                   kvHeads * valueDim(), model.hidden, bias);
    if (attention.valueNorm)
      v = step.norm(v, model.isCentered(), Value(), Value(), model.config.normEpsilon, valueDim());
    v = step.multiply(v, attention.valueScale);
    if (isNarrow())
      v = step.gatherColumns(v, "attention.head_columns." + std::to_string(kvHeads),
                             headColumns(kvHeads, valueDim(), headDim));
    return {q, k, v, gate};
  }

  int64_t valueDim() const {
    return attention.valueDim != 0 ? static_cast<int64_t>(attention.valueDim) : headDim;
  }
  /// Whether heads of v have fewer columns than those of k. The cache has as many for both: in v
  /// the first ones once more, whose results are left out (decision 0106).
  bool isNarrow() const { return valueDim() != headDim; }

  /// Where columns of `heads` heads of `to` columns each come from, which have `from` columns: the
  /// first valueDim() of them, over and over.
  SmallVector<int32_t> headColumns(int64_t heads, int64_t from, int64_t to) const {
    SmallVector<int32_t> columns;
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < to; ++i)
        columns.push_back(static_cast<int32_t>(head * from + i % valueDim()));
    return columns;
  }

  /// Norms q and k, where the layer does.
  void normPair(Value &q, Value &k) {
    q = normed(q, prefix + module + std::string(names.queryNorm));
    if (k)
      k = normed(k, prefix + module + std::string(names.keyNorm));
  }

  /// `name`: of the norm.
  Value normed(Value x, const std::string &name) {
    if (attention.queryKeyNorm == QueryKeyNorm::None)
      return x;
    step.setSite(Modules::siteOf(name));
    int64_t columns = llm::columnsOf(x);
    Value weight;
    if (attention.queryKeyNorm == QueryKeyNorm::HeadsApart)
      weight = step.reshape(step.weight(name + ".weight", {columns / headDim, headDim}), {columns});
    else if (attention.queryKeyNorm == QueryKeyNorm::HeadsListed)
      weight = listedWeights(name, columns / headDim);
    else if (attention.queryKeyNorm != QueryKeyNorm::Plain)
      weight = model.normWeight(name + ".weight",
                                attention.queryKeyNorm == QueryKeyNorm::Rows ? columns : headDim);
    if (weight && attention.ropeInterleaved)
      weight = byHalves(weight);
    return step.norm(x, model.isCentered(), weight, Value(), model.config.normEpsilon,
                     attention.queryKeyNorm == QueryKeyNorm::Rows ? 0 : headDim);
  }

  /// The factors of all heads, each of which has a tensor of its own.
  Value listedWeights(const std::string &name, int64_t heads) {
    SmallVector<Value> rows;
    for (int64_t head = 0; head < heads; ++head) {
      Value own = step.weight(name + ".norms." + std::to_string(head) + ".weight", {headDim});
      rows.push_back(step.reshape(own, {1, headDim}));
    }
    return step.reshape(step.stack(rows), {heads * headDim});
  }

  /// Rows 2i and 2i+1 of each run of rows that rotates as rows i and i + half, where rope looks for
  /// them. A head is some such runs; those that do not rotate may lie in any order.
  Value byHalves(Value weight) {
    int64_t rows = cast<RankedTensorType>(weight.getType()).getShape().front();
    auto half = static_cast<int64_t>(
        model.config.ropes[attention.rope.value_or(0)].pairs(attention.headDim));
    return step.permuteRows(weight, {rows / (2 * half), half, 2}, {0, 2, 1});
  }

  Modules &model;
  StepBuilder &step;
  const checkpoint::ModuleNames &names;
  const Attention &attention;
  const std::string &prefix; ///< of the layer ("model.layers.0.")
  const std::string module;  ///< behind it ("self_attn.")
  const int64_t heads, kvHeads, headDim;
};

} // namespace

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &model,
                              const Attention &attention) {
  auto window = static_cast<int64_t>(attention.slidingWindow);
  return {llm::KvType::get(context, attention.kvHeads, attention.headDim, Float32Type::get(context),
                           kKvBlockTokens, window < model.maxContext ? window : 0)};
}

Value compiler::mixTokens(Modules &model, const Attention &attention, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  return AttentionBuilder(model, attention, prefix).build(x, caches.front());
}
