// SPDX-License-Identifier: Apache-2.0
// One builder for all families: what they differ in, such as biases, norms and where they stand,
// activations, windows, multipliers and projections that are stored as one, their ModelConfig says.
#include "compiler/importers/Decoder.h"

#include "compiler/importers/RotaryTable.h"
#include "compiler/importers/StepBuilder.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::ExpertStorage;
using checkpoint::LayerForm;
using checkpoint::ModelConfig;
using checkpoint::NormKind;
using checkpoint::QueryKeyNorm;

namespace {

/// One model under import.
class Decoder {
public:
  Decoder(StepBuilder &step, const ModelConfig &config, int64_t maxContext)
      : step(step), config(config), names(config.names), hidden(config.hiddenSize),
        inner(config.intermediateSize), headDim(config.headDim), maxContext(maxContext),
        wholeRotary(rotaryTable(config, maxContext)) {
    ModelConfig sliding = config;
    sliding.rope = config.slidingRope.value_or(config.rope);
    slidingRotary = rotaryTable(sliding, maxContext);
    if (config.experts) {
      count = static_cast<int64_t>(config.experts->count);
      width = static_cast<int64_t>(config.experts->innerSize);
    }
  }

  LogicalResult run(MLIRContext *context) {
    SmallVector<llm::KvType> caches;
    for (uint64_t i = 0; i < config.layers; ++i)
      caches.push_back(cacheOf(context, i));
    step.begin(caches);
    Value x = embedded();
    for (uint64_t i = 0; i < config.layers; ++i)
      x = layer(x, static_cast<int64_t>(i), step.cache(static_cast<int64_t>(i)));
    return step.finish(logitsOf(x));
  }

  /// One layer alone, or the embedding, or the head.
  LogicalResult runPart(MLIRContext *context, int64_t index) {
    if (index == ModelPart::kEmbedding) {
      step.begin({});
      return step.finish(step.wantedRows(embedded()));
    }
    if (index == static_cast<int64_t>(config.layers)) {
      step.begin({}, hidden);
      return step.finish(logitsOf(step.givenEmbeddings()));
    }
    step.begin(cacheOf(context, static_cast<uint64_t>(index)), hidden);
    return step.finish(step.wantedRows(layer(step.givenEmbeddings(), index, step.cache(0))));
  }

private:
  llm::KvType cacheOf(MLIRContext *context, uint64_t layer) const {
    return llm::KvType::get(context, config.kvHeadsOf(layer), headDim, Float32Type::get(context),
                            kKvBlockTokens, windowOf(layer) < maxContext ? windowOf(layer) : 0);
  }
  /// Positions that tokens attend to in a layer; 0: all.
  int64_t windowOf(uint64_t layer) const {
    return config.slides(layer) ? static_cast<int64_t>(config.slidingWindow) : 0;
  }
  int64_t vocabulary() const { return static_cast<int64_t>(config.vocabSize); }

  Value logitsOf(Value x) {
    step.setSite(siteOf(names.norm));
    x = norm(step.wantedRows(x), std::string(names.norm));
    step.setSite(names.head);
    // Of a tied pair, both names lead to the one stored tensor; recipes may treat them apart.
    Value logits = step.linear(x, step.weight(tensor(names.head), {vocabulary(), hidden}));
    logits = step.divide(step.multiply(logits, config.logitsMultiplier), config.logitsDivisor);
    return step.softcap(logits, config.logitsSoftcap);
  }

  Value embedded() {
    step.setSite(siteOf(names.embedding));
    Value table = step.weight(tensor(names.embedding), {vocabulary(), hidden});
    Value x = step.multiply(step.embed(table), config.embeddingMultiplier);
    if (config.positionTable)
      x = step.add(
          x, step.embedPositions(step.weight(tensor(names.positions),
                                             {static_cast<int64_t>(config.maxPositions), hidden})));
    return step.boundary(x, "embed");
  }

  /// The place in the model that tensors of `prefix` belong to.
  static StringRef siteOf(StringRef prefix) { return prefix.drop_front(strlen("model.")); }
  static std::string tensor(std::string_view module) { return std::string(module) + ".weight"; }

  /// The norm called `name`, of whole rows.
  Value norm(Value x, const std::string &name) {
    step.setSite(siteOf(name));
    Value bias =
        config.norm == NormKind::LayerBias ? step.weight(name + ".bias", {hidden}) : Value();
    return step.norm(x, isCentered(), normWeight(name + ".weight", hidden), bias,
                     config.normEpsilon);
  }
  bool isCentered() const { return config.norm != NormKind::Rms; }
  Value normWeight(StringRef name, int64_t columns) {
    Value weight = step.weight(name, {columns});
    return config.normsLessOne ? step.plusOne(weight) : weight;
  }

  /// The projection `name` of layer-prefix `prefix` ("model.layers.0."). `ordered`: what becomes of
  /// the rows of its weight and bias; null: nothing.
  Value project(Value x, const std::string &prefix, StringRef name, int64_t outputs, int64_t inputs,
                bool hasBias, function_ref<Value(Value)> ordered = nullptr) {
    step.setSite(siteOf(prefix) + name);
    std::string tensor = prefix + name.str();
    Value weight = step.matrix(tensor + ".weight", outputs, inputs, config.inputsFirst);
    Value bias = hasBias ? step.weight(tensor + ".bias", {outputs}) : Value();
    if (ordered) {
      weight = ordered(weight);
      bias = bias ? ordered(bias) : bias;
    }
    return step.linear(x, weight, bias);
  }

  /// Rows 2i and 2i+1 of each run of rows that rotates as rows i and i + half, where rope looks for
  /// them. A head is some such runs; those that do not rotate may lie in any order.
  Value byHalves(Value weight) {
    int64_t rows = cast<RankedTensorType>(weight.getType()).getShape().front();
    auto half = static_cast<int64_t>(config.rotaryPairs());
    return step.permuteRows(weight, {rows / (2 * half), half, 2}, {0, 2, 1});
  }

  Value layer(Value x, int64_t index, Value cache) {
    std::string name = "layers." + std::to_string(index), prefix = "model." + name + ".";
    auto normed = [&](Value input, std::string_view norm) {
      return this->norm(input, prefix + std::string(norm));
    };
    auto fed = [&](Value input) {
      return config.isSparse(static_cast<uint64_t>(index))
                 ? mixture(input, prefix)
                 : feedForward(input, prefix, std::string(names.feedForward), inner);
    };
    auto added = [&](Value input, Value term) {
      return step.add(input, step.multiply(term, config.residualMultiplier));
    };
    LayerForm form = config.layerForm;
    bool results = form == LayerForm::Results || form == LayerForm::Both;
    Value input = form == LayerForm::Results ? x : normed(x, names.inputNorm);
    Value attended = attention(input, prefix, index, cache);
    if (results)
      attended = normed(attended, names.attentionNorm);
    step.setSite(name + ".post_attention_layernorm");
    Value middle = added(x, attended);
    if (form == LayerForm::Results)
      input = middle;
    else if (form != LayerForm::Shared)
      input = normed(form == LayerForm::Parallel ? x : middle, names.feedForwardNorm);
    Value result = fed(input);
    step.setSite(name + ".output");
    if (results)
      result = normed(result, names.resultNorm);
    return step.boundary(added(middle, result), name);
  }

  Value attention(Value x, const std::string &prefix, int64_t index, Value cache) {
    const auto layer = static_cast<uint64_t>(index);
    const std::string module = std::string(names.attention) + ".";
    auto [q, k, v] = queryKeyValue(x, prefix, module, layer);
    const bool rotates = config.rotates(layer), slides = config.slides(layer);
    if (!config.normsRotated)
      normPair(q, k, prefix + module, rotates);
    step.setSite(siteOf(prefix) + names.attention);
    if (rotates) {
      bool own = slides && config.slidingRope;
      const RotaryTable &rotary = own ? slidingRotary : wholeRotary;
      Value table =
          step.literal(own ? "rope.sliding_inv_freq" : "rope.inv_freq", rotary.frequencies);
      q = step.rope(q, table, headDim, rotary.factor);
      k = step.rope(k, table, headDim, rotary.factor);
    }
    if (config.normsRotated)
      normPair(q, k, prefix + module, rotates);
    step.setSite(siteOf(prefix) + names.attention);
    const checkpoint::QueryGrowth &growth = config.queryGrowth;
    if (growth.by != 0 && !(growth.onlyUnrotated && rotates))
      q = step.scaledRows(q, step.literal("rope.query_scale", queryScales()));
    step.kvAppend(k, v, cache, prefix + module);
    double scale = config.attentionMultiplier != 0 ? config.attentionMultiplier
                                                   : 1 / std::sqrt(static_cast<double>(headDim));
    auto heads = static_cast<int64_t>(config.heads);
    Value sinks = config.attentionSinks && (slides || !config.onlySlidingSinks)
                      ? step.weight(prefix + module + std::string(names.sinks), {heads})
                      : Value();
    Value mixed = step.attention(q, cache, scale, static_cast<uint64_t>(windowOf(layer)),
                                 config.windowIsChunk, config.attentionSoftcap, sinks);
    if (isNarrow())
      mixed = step.gatherColumns(mixed, "attention.value_columns",
                                 headColumns(heads, headDim, valueDim()));
    return project(mixed, prefix, module + std::string(names.output), hidden, heads * valueDim(),
                   config.outputBias);
  }

  struct QueryKeyValue {
    Value q, k, v;
  };

  QueryKeyValue queryKeyValue(Value x, const std::string &prefix, const std::string &module,
                              uint64_t layer) {
    const auto heads = static_cast<int64_t>(config.heads),
               kvHeads = static_cast<int64_t>(config.kvHeadsOf(layer));
    const int64_t queryColumns = heads * headDim, kvColumns = kvHeads * headDim;
    const bool bias = config.attentionBias;
    auto named = [&](std::string_view part) { return module + std::string(part); };
    if (config.fusedAttention) {
      auto byParts = [&](Value weight) {
        return config.fusedByHeads ? step.permuteRows(weight, {heads, 3, headDim}, {1, 0, 2})
                                   : weight;
      };
      Value qkv = project(x, prefix, named(names.queryKeyValue), queryColumns + 2 * kvColumns,
                          hidden, bias, byParts);
      return {step.sliceColumns(qkv, 0, queryColumns),
              step.sliceColumns(qkv, queryColumns, kvColumns),
              step.sliceColumns(qkv, queryColumns + kvColumns, kvColumns)};
    }
    auto byPairs = [&](Value weight) { return config.rotaryPairRows ? byHalves(weight) : weight; };
    Value q = project(x, prefix, named(names.query), queryColumns, hidden, bias, byPairs),
          k = project(x, prefix, named(names.key), kvColumns, hidden, bias, byPairs),
          v = project(x, prefix, named(names.value), kvHeads * valueDim(), hidden, bias);
    v = step.multiply(v, config.valueMultiplier);
    if (isNarrow())
      v = step.gatherColumns(v, "attention.head_columns." + std::to_string(kvHeads),
                             headColumns(kvHeads, valueDim(), headDim));
    return {q, k, v};
  }

  int64_t valueDim() const {
    return config.valueDim != 0 ? static_cast<int64_t>(config.valueDim) : headDim;
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

  /// What q is multiplied by at each position.
  std::vector<float> queryScales() const {
    const checkpoint::QueryGrowth &growth = config.queryGrowth;
    std::vector<float> scales;
    for (int64_t position = 0; position < maxContext; ++position) {
      auto steps = (static_cast<uint64_t>(position) + growth.shift) / growth.each;
      scales.push_back(
          static_cast<float>(1 + growth.by * std::log(1 + static_cast<double>(steps))));
    }
    return scales;
  }

  /// Norms q and k, where the family does; `module`: the attention ("model.layers.0.self_attn.").
  void normPair(Value &q, Value &k, const std::string &module, bool rotates) {
    if (config.queryKeyNorm == QueryKeyNorm::Plain && !rotates)
      return;
    q = normed(q, module + std::string(names.queryNorm));
    k = normed(k, module + std::string(names.keyNorm));
  }

  /// `name`: of the norm.
  Value normed(Value x, const std::string &name) {
    if (config.queryKeyNorm == QueryKeyNorm::None)
      return x;
    step.setSite(siteOf(name));
    int64_t columns = llm::columnsOf(x);
    Value weight;
    if (config.queryKeyNorm == QueryKeyNorm::HeadsApart)
      weight = step.reshape(step.weight(name + ".weight", {columns / headDim, headDim}), {columns});
    else if (config.queryKeyNorm == QueryKeyNorm::HeadsListed)
      weight = listedWeights(name, columns / headDim);
    else if (config.queryKeyNorm != QueryKeyNorm::Plain)
      weight = normWeight(name + ".weight",
                          config.queryKeyNorm == QueryKeyNorm::Rows ? columns : headDim);
    if (weight && config.rotaryPairRows)
      weight = byHalves(weight);
    return step.norm(x, isCentered(), weight, Value(), config.normEpsilon,
                     config.queryKeyNorm == QueryKeyNorm::Rows ? 0 : headDim);
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

  /// The feed-forward part called `module`, `inner` wide.
  Value feedForward(Value x, const std::string &prefix, const std::string &module, int64_t inner) {
    auto projected = [&](Value input, std::string_view name, int64_t outputs, int64_t inputs) {
      return project(input, prefix, module + "." + std::string(name), outputs, inputs,
                     config.mlpBias);
    };
    Value gate, up;
    if (config.fusedFeedForward) {
      Value both = projected(x, names.gateUp, 2 * inner, hidden);
      gate = step.sliceColumns(both, 0, inner);
      up = step.sliceColumns(both, inner, inner);
    } else {
      if (config.isGated)
        gate = projected(x, names.gate, inner, hidden);
      up = projected(x, names.up, inner, hidden);
    }
    step.setSite(siteOf(prefix) + module + ".act_fn");
    ActivationFunction function = activation(prefix + module + ".act_fn.");
    Value product = gate ? step.activatedTimes(function, gate, up) : step.activated(function, up);
    return projected(product, names.down, hidden, inner);
  }

  /// The experts that each token of `x` goes to, weighted, and the one that all go to.
  Value mixture(Value x, const std::string &prefix) {
    const checkpoint::Experts &experts = *config.experts;
    std::string module(experts.module), site = siteOf(prefix).str() + module;
    Value logits = project(x, prefix, module + "." + std::string(experts.router), count, hidden,
                           experts.biases);
    step.setSite(site + ".route");
    StepBuilder::Routing routing =
        step.route(logits, choiceBias(prefix + module + "."),
                   static_cast<int64_t>(experts.perToken), experts.routing);
    step.setSite(site + ".experts.gate_up_proj");
    std::string name = prefix + module + ".experts.";
    Value both = step.expertLinear(x, gateAndUp(name), routing);
    // What the input is multiplied by may as well multiply the product.
    if (experts.routing.scalesInputs)
      both = step.weighted(both, routing);
    if (experts.biases)
      both = step.addExpertBias(both, inputBiases(name), routing);
    step.setSite(site + ".experts.act_fn");
    Value product =
        step.activatedTimes(activation(name + "act_fn."), step.sliceColumns(both, 0, width),
                            step.sliceColumns(both, width, width));
    step.setSite(site + ".experts.down_proj");
    Value rows = step.expertLinear(product, down(name), routing);
    if (experts.biases)
      rows =
          step.addExpertBias(rows, step.weight(name + "down_proj_bias", {count, hidden}), routing);
    step.setSite(site + ".combine");
    Value sum = step.combine(rows, routing, !experts.routing.scalesInputs);
    if (experts.sharedSize == 0)
      return sum;
    const std::string own = module + "." + std::string(experts.shared);
    Value shared = feedForward(x, prefix, own, static_cast<int64_t>(experts.sharedSize));
    if (experts.sharedGated) {
      Value gate = project(x, prefix, own + "_gate", 1, hidden, false);
      step.setSite(siteOf(prefix) + own);
      shared = step.gated(shared, gate);
    }
    step.setSite(site);
    return step.add(sum, shared);
  }

  /// What is added to the scores of experts for the choice; `module`: ("model.layers.0.mlp.").
  Value choiceBias(const std::string &module) {
    const checkpoint::Router &router = config.experts->routing;
    if (router.bias.empty())
      return {};
    SmallVector<int64_t> shape = {count};
    if (router.biasIsRow)
      shape.insert(shape.begin(), 1);
    return step.reshape(step.weight(module + std::string(router.bias), shape), {count});
  }

  /// `name`: of its numbers ("model.layers.0.mlp.act_fn.").
  ActivationFunction activation(const std::string &name) {
    ActivationFunction function = {config.activation, config.activationLimit};
    if (config.activation == checkpoint::Activation::Xielu) {
      // Two are stored as what softplus makes positive numbers of.
      auto softplus = [](double x) {
        return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
      };
      XieluNumbers &xielu = function.xielu;
      xielu.beta = step.number(name + "beta", 0.5);
      xielu.eps = step.number(name + "eps", -1e-6);
      xielu.positive = softplus(step.number(name + "alpha_p", 0, /*isNeeded=*/true));
      xielu.negative = xielu.beta + softplus(step.number(name + "alpha_n", 0, /*isNeeded=*/true));
    }
    return function;
  }

  /// The gate and up matrices of each expert, stacked. `name`: of the experts ("...mlp.experts.").
  Value gateAndUp(const std::string &name) {
    const checkpoint::Experts &experts = *config.experts;
    if (experts.storage == ExpertStorage::Turns)
      return byExpertHalves(
          step.expertWeights(name + "gate_up_proj", count, 2 * width, hidden, inputsFirst(name)));
    if (!areApart(name))
      return step.expertWeights(name + "gate_up_proj", count, 2 * width, hidden, inputsFirst(name));
    SmallVector<Value> parts;
    for (int64_t expert = 0; expert < count; ++expert)
      for (std::string_view part : {experts.gate, experts.up})
        parts.push_back(expertMatrix(name, expert, part, width, hidden));
    return step.stack(parts);
  }

  /// Whether each matrix is a tensor: programs that quantize take stacks apart.
  bool areApart(const std::string &name) const {
    const checkpoint::Experts &experts = *config.experts;
    return experts.storage == ExpertStorage::Apart ||
           (experts.storage == ExpertStorage::Halves &&
            step.hasMatrix(name + "0." + std::string(experts.down) + ".weight"));
  }

  /// Whether stacks are [experts, inputs, outputs]: their shapes tell, of one matrix or the other.
  bool inputsFirst(const std::string &name) {
    if (config.experts->storage == ExpertStorage::Turns)
      return true;
    return hidden != 2 * width ? !step.isStored(name + "gate_up_proj", {count, 2 * width, hidden})
                               : !step.isStored(name + "down_proj", {count, hidden, width});
  }

  Value down(const std::string &name) {
    const checkpoint::Experts &experts = *config.experts;
    if (!areApart(name))
      return step.expertWeights(name + "down_proj", count, hidden, width, inputsFirst(name));
    SmallVector<Value> parts;
    for (int64_t expert = 0; expert < count; ++expert)
      parts.push_back(expertMatrix(name, expert, experts.down, hidden, width));
    return step.stack(parts);
  }

  /// What is added to products with gateAndUp().
  Value inputBiases(const std::string &name) {
    auto ofPart = [&](std::string_view part, int64_t columns) {
      Value biases = step.weight(name + std::string(part) + "_bias", {count, columns});
      return step.reshape(biases, {count * columns, 1});
    };
    Value rows;
    if (config.experts->storage == ExpertStorage::Turns)
      rows = byExpertHalves(ofPart("gate_up_proj", 2 * width));
    else // all gates before all ups
      rows = step.permuteRows(
          step.stack({ofPart(config.experts->gate, width), ofPart(config.experts->up, width)}),
          {2, count, width}, {1, 0, 2});
    return step.reshape(rows, {count, 2 * width});
  }

  Value expertMatrix(const std::string &name, int64_t expert, std::string_view part, int64_t rows,
                     int64_t columns) {
    return step.weight(name + std::to_string(expert) + "." + std::string(part) + ".weight",
                       {rows, columns});
  }

  /// What has gate and up of each expert in turn, with all gates of an expert before its ups.
  Value byExpertHalves(Value weight) {
    return step.permuteRows(weight, {count, width, 2}, {0, 2, 1});
  }

  StepBuilder &step;
  const ModelConfig &config;
  const checkpoint::ModuleNames &names;
  int64_t hidden, inner, headDim, maxContext;
  int64_t count = 0, width = 0; ///< of experts, and of each one
  RotaryTable wholeRotary, slidingRotary;
};

} // namespace

LogicalResult compiler::importDecoder(ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                                      const ImportOptions &options) {
  StepBuilder step(module, checkpoint, options);
  Decoder decoder(step, checkpoint.config(), options.maxContext);
  return options.part ? decoder.runPart(module.getContext(), options.part->layer)
                      : decoder.run(module.getContext());
}
