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
using checkpoint::LayerNorms;
using checkpoint::ModelConfig;
using checkpoint::QueryKeyNorm;

namespace {

/// One model under import.
class Decoder {
public:
  Decoder(StepBuilder &step, const ModelConfig &config, int64_t maxContext)
      : step(step), config(config), hidden(config.hiddenSize), inner(config.intermediateSize),
        headDim(config.headDim), wholeRotary(rotaryTable(config, maxContext)) {
    ModelConfig sliding = config;
    sliding.rope = config.slidingRope.value_or(config.rope);
    slidingRotary = rotaryTable(sliding, maxContext);
    if (config.experts) {
      count = static_cast<int64_t>(config.experts->count);
      width = static_cast<int64_t>(config.experts->innerSize);
    }
  }

  LogicalResult run(MLIRContext *context) {
    auto kv = llm::KvType::get(context, config.kvHeads, headDim, Float32Type::get(context),
                               kKvBlockTokens);
    step.begin(SmallVector<llm::KvType>(config.layers, kv));
    auto vocabulary = static_cast<int64_t>(config.vocabSize);
    step.setSite("embed_tokens");
    Value table = step.weight("model.embed_tokens.weight", {vocabulary, hidden});
    Value x = step.boundary(step.multiply(step.embed(table), config.embeddingMultiplier), "embed");
    for (uint64_t i = 0; i < config.layers; ++i)
      x = layer(x, static_cast<int64_t>(i));
    step.setSite("norm");
    x = norm(step.wantedRows(x), "model.norm.weight");
    step.setSite("lm_head");
    // Of a tied pair, both names lead to the one stored tensor; recipes may treat them apart.
    Value logits = step.linear(x, step.weight("lm_head.weight", {vocabulary, hidden}));
    return step.finish(
        step.softcap(step.divide(logits, config.logitsDivisor), config.logitsSoftcap));
  }

private:
  /// The place in the model that tensors of `prefix` belong to.
  static StringRef siteOf(StringRef prefix) { return prefix.drop_front(strlen("model.")); }

  Value norm(Value x, StringRef weight) {
    return step.rmsNorm(x, normWeight(weight, hidden), config.rmsNormEpsilon);
  }
  Value normWeight(StringRef name, int64_t columns) {
    Value weight = step.weight(name, {columns});
    return config.normsLessOne ? step.plusOne(weight) : weight;
  }

  /// The projection `name` of layer-prefix `prefix` ("model.layers.0."). `rotates`: its result goes
  /// through rope.
  Value project(Value x, const std::string &prefix, StringRef name, int64_t outputs, int64_t inputs,
                bool hasBias, bool rotates = false) {
    step.setSite(siteOf(prefix) + name);
    std::string tensor = prefix + name.str();
    Value weight = step.weight(tensor + ".weight", {outputs, inputs});
    Value bias = hasBias ? step.weight(tensor + ".bias", {outputs}) : Value();
    if (rotates && config.rotaryPairRows) {
      weight = byHalves(weight);
      bias = bias ? byHalves(bias) : bias;
    }
    return step.linear(x, weight, bias);
  }

  /// Rows 2i and 2i+1 of each head as rows i and i + headDim/2, where rope looks for them.
  Value byHalves(Value weight) {
    int64_t rows = cast<RankedTensorType>(weight.getType()).getShape().front();
    return step.permuteRows(weight, {rows / headDim, headDim / 2, 2}, {0, 2, 1});
  }

  Value layer(Value x, int64_t index) {
    std::string name = "layers." + std::to_string(index), prefix = "model." + name + ".";
    bool inputs = config.layerNorms != LayerNorms::Results;
    bool results = config.layerNorms != LayerNorms::Inputs;
    step.setSite(name + ".input_layernorm");
    Value attended =
        attention(inputs ? norm(x, prefix + "input_layernorm.weight") : x, prefix, index);
    if (!results)
      attended = step.multiply(attended, config.residualMultiplier);
    step.setSite(name + ".post_attention_layernorm");
    if (results)
      attended = norm(attended, prefix + "post_attention_layernorm.weight");
    Value middle = step.add(x, attended), input = middle;
    if (inputs && results)
      step.setSite(name + ".pre_feedforward_layernorm");
    if (inputs)
      input = norm(middle,
                   prefix + (results ? "pre_feedforward" : "post_attention") + "_layernorm.weight");
    Value fed = config.isSparse(static_cast<uint64_t>(index))
                    ? mixture(input, prefix)
                    : feedForward(input, prefix, "mlp", inner);
    if (!results)
      fed = step.multiply(fed, config.residualMultiplier);
    step.setSite(name + (results ? ".post_feedforward_layernorm" : ".output"));
    if (results)
      fed = norm(fed, prefix + "post_feedforward_layernorm.weight");
    return step.boundary(step.add(middle, fed), name);
  }

  Value attention(Value x, const std::string &prefix, int64_t index) {
    int64_t queryColumns = static_cast<int64_t>(config.heads) * headDim;
    int64_t kvColumns = static_cast<int64_t>(config.kvHeads) * headDim;
    Value q, k, v;
    if (config.fusedProjections) {
      Value qkv = project(x, prefix, "self_attn.qkv_proj", queryColumns + 2 * kvColumns, hidden,
                          config.attentionBias);
      q = step.sliceColumns(qkv, 0, queryColumns);
      k = step.sliceColumns(qkv, queryColumns, kvColumns);
      v = step.sliceColumns(qkv, queryColumns + kvColumns, kvColumns);
    } else {
      bool bias = config.attentionBias;
      q = project(x, prefix, "self_attn.q_proj", queryColumns, hidden, bias, /*rotates=*/true);
      k = project(x, prefix, "self_attn.k_proj", kvColumns, hidden, bias, /*rotates=*/true);
      v = project(x, prefix, "self_attn.v_proj", kvColumns, hidden, bias);
    }
    q = normed(q, prefix, "self_attn.q_norm");
    k = normed(k, prefix, "self_attn.k_norm");
    step.setSite("layers." + Twine(index) + ".self_attn");
    bool slides = config.slides(static_cast<uint64_t>(index));
    bool own = slides && config.slidingRope;
    const RotaryTable &rotary = own ? slidingRotary : wholeRotary;
    Value table = step.literal(own ? "rope.sliding_inv_freq" : "rope.inv_freq", rotary.frequencies);
    q = step.rope(q, table, headDim, rotary.factor);
    k = step.rope(k, table, headDim, rotary.factor);
    step.kvAppend(k, v, step.cache(index), prefix + "self_attn.");
    double scale = config.attentionMultiplier != 0 ? config.attentionMultiplier
                                                   : 1 / std::sqrt(static_cast<double>(headDim));
    Value sinks = config.attentionSinks ? step.weight(prefix + "self_attn.sinks",
                                                      {static_cast<int64_t>(config.heads)})
                                        : Value();
    Value mixed = step.attention(q, step.cache(index), scale, slides ? config.slidingWindow : 0,
                                 config.attentionSoftcap, sinks);
    return project(mixed, prefix, "self_attn.o_proj", hidden, queryColumns, config.outputBias);
  }

  /// q or k as it is before it rotates.
  Value normed(Value x, const std::string &prefix, StringRef name) {
    if (config.queryKeyNorm == QueryKeyNorm::None)
      return x;
    step.setSite(siteOf(prefix) + name);
    bool heads = config.queryKeyNorm == QueryKeyNorm::Heads;
    Value weight = normWeight(prefix + name.str() + ".weight", heads ? headDim : llm::columnsOf(x));
    return step.rmsNorm(x, weight, config.rmsNormEpsilon, heads ? headDim : 0);
  }

  /// The feed-forward part called `module`, `inner` wide.
  Value feedForward(Value x, const std::string &prefix, const std::string &module, int64_t inner) {
    Value gate, up;
    if (config.fusedProjections) {
      Value both = project(x, prefix, module + ".gate_up_proj", 2 * inner, hidden, config.mlpBias);
      gate = step.sliceColumns(both, 0, inner);
      up = step.sliceColumns(both, inner, inner);
    } else {
      gate = project(x, prefix, module + ".gate_proj", inner, hidden, config.mlpBias);
      up = project(x, prefix, module + ".up_proj", inner, hidden, config.mlpBias);
    }
    step.setSite(siteOf(prefix) + module + ".act_fn");
    Value product = activated(gate, up);
    return project(product, prefix, module + ".down_proj", hidden, inner, config.mlpBias);
  }

  /// The experts that each token of `x` goes to, weighted, and the one that all go to.
  Value mixture(Value x, const std::string &prefix) {
    const checkpoint::Experts &experts = *config.experts;
    std::string module(experts.module), site = siteOf(prefix).str() + module;
    Value logits = project(x, prefix, module + "." + std::string(experts.router), count, hidden,
                           experts.biases);
    step.setSite(site + ".route");
    StepBuilder::Routing routing =
        step.route(logits, static_cast<int64_t>(experts.perToken), experts.normalized);
    step.setSite(site + ".experts.gate_up_proj");
    std::string name = prefix + module + ".experts.";
    Value both = step.expertLinear(x, gateAndUp(name), routing);
    if (experts.biases)
      both = step.addExpertBias(both, inputBiases(name), routing);
    step.setSite(site + ".experts.act_fn");
    Value product =
        activated(step.sliceColumns(both, 0, width), step.sliceColumns(both, width, width));
    step.setSite(site + ".experts.down_proj");
    Value rows = step.expertLinear(product, down(name), routing);
    if (experts.biases)
      rows =
          step.addExpertBias(rows, step.weight(name + "down_proj_bias", {count, hidden}), routing);
    step.setSite(site + ".combine");
    Value sum = step.combine(rows, routing);
    if (experts.sharedSize == 0)
      return sum;
    Value shared =
        feedForward(x, prefix, module + ".shared_expert", static_cast<int64_t>(experts.sharedSize));
    Value gate = project(x, prefix, module + ".shared_expert_gate", 1, hidden, false);
    step.setSite(site + ".shared_expert");
    shared = step.gated(shared, gate);
    step.setSite(site);
    return step.add(sum, shared);
  }

  Value activated(Value gate, Value up) {
    return step.activatedTimes(config.activation, config.activationLimit, gate, up);
  }

  /// The gate and up matrices of each expert, stacked. `name`: of the experts ("...mlp.experts.").
  Value gateAndUp(const std::string &name) {
    const checkpoint::Experts &experts = *config.experts;
    if (experts.stacked)
      return byExpertHalves(step.expertWeights(name + "gate_up_proj", count, 2 * width, hidden));
    SmallVector<Value> parts;
    for (int64_t expert = 0; expert < count; ++expert)
      for (std::string_view part : {experts.gate, experts.up})
        parts.push_back(expertMatrix(name, expert, part, width, hidden));
    return step.stack(parts);
  }

  Value down(const std::string &name) {
    const checkpoint::Experts &experts = *config.experts;
    if (experts.stacked)
      return step.expertWeights(name + "down_proj", count, hidden, width);
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
    if (config.experts->stacked)
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
  int64_t hidden, inner, headDim;
  int64_t count = 0, width = 0; ///< of experts, and of each one
  RotaryTable wholeRotary, slidingRotary;
};

} // namespace

LogicalResult compiler::importDecoder(ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                                      const ImportOptions &options) {
  StepBuilder step(module, checkpoint, options);
  return Decoder(step, checkpoint.config(), options.maxContext).run(module.getContext());
}
