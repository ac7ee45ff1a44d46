// SPDX-License-Identifier: Apache-2.0
// Falcon-H1: attention and a state space beside each other in all layers, and multipliers all over.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/HybridGguf.h"
#include "compiler/checkpoint/config/families/StateSpaceKeys.h"

#include <algorithm>
#include <cmath>

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};
static constexpr NumberKey multipliers[] = {
    factorKey("embedding_multiplier", &ModelConfig::embeddingMultiplier, 1)};

static double factorOf(JsonFields &fields, std::string_view key) {
  return fields.numberOr(key, 1, kLeastFactor, kMostFactor);
}

/// As many factors as `into` has.
static void readFactors(JsonFields &fields, std::string_view key, std::span<double> into) {
  const auto given = fields.numbers(key, kLeastFactor, kMostFactor);
  if (!given)
    return;
  if (given->size() != into.size())
    return fields.fail(key, "INGOT-E1051", message("these are not ", into.size(), " numbers"),
                       "correct it");
  std::ranges::copy(*given, into.begin());
}

static void readSpace(JsonFields &fields, const ConfigDraft &config, StateSpace &space) {
  constexpr std::string_view columns = "mamba_d_ssm";
  readStateSpace(
      fields, config, space,
      fields.isNull(columns) ? 0 : fields.unsignedIntegerOr(columns, 1024, 1, ModelConfig::widest));
  space.outputBias = fields.booleanOr("projectors_bias", false);
  const bool normFirst = fields.booleanOr("mamba_norm_before_gate", true);
  space.norm = !fields.booleanOr("mamba_rms_norm", false) ? StateSpaceNorm::None
               : normFirst                                ? StateSpaceNorm::NormFirst
                                                          : StateSpaceNorm::GateFirst;
  space.inputFactor = factorOf(fields, "ssm_in_multiplier");
  readFactors(fields, "ssm_multipliers", space.factors);
  if (space.bias)
    return;
  // What the input of a product is multiplied by may as well multiply the product.
  for (double &factor : space.factors)
    factor *= space.inputFactor;
  space.inputFactor = 1;
}

/// The same of attention: scores are products of two.
static void moveFactor(AttentionAndStateSpace &both, Attention &attention) {
  if (attention.bias)
    return;
  attention.scaling *= both.attentionInput * both.attentionInput;
  both.attentionOutput *= both.attentionInput;
  both.attentionInput = 1;
}

static void readOwn(JsonFields &fields, ConfigDraft &config) {
  auto &both = std::get<AttentionAndStateSpace>(*config.other);
  readSpace(fields, config, both.space);
  both.attentionInput = factorOf(fields, "attention_in_multiplier");
  both.attentionOutput = factorOf(fields, "attention_out_multiplier");
  both.spaceOutput = factorOf(fields, "ssm_out_multiplier");
  // Keys are multiplied, and so scores; logits likewise, where others divide them.
  config.attention.scaling =
      factorOf(fields, "key_multiplier") / std::sqrt(static_cast<double>(config.attention.headDim));
  moveFactor(both, config.attention);
  config.logitsDivisor = 1 / factorOf(fields, "lm_head_multiplier");
  std::array<double, 2> ofMlp = {1, 1};
  readFactors(fields, "mlp_multipliers", ofMlp);
  config.mlp.gateFactor = ofMlp[0];
  config.mlp.downFactor = ofMlp[1];
}

/// Converters multiply the weights, and llama.cpp gates before it norms.
static void readGgufOwn(GgufFields &fields, ConfigDraft &config) {
  StateSpace &space = std::get<AttentionAndStateSpace>(*config.other).space;
  readStateSpace(fields, config, space);
  space.norm = fields.hasInLayers("ssm_norm.weight", config.layerCount())
                   ? StateSpaceNorm::GateFirst
                   : StateSpaceNorm::None;
}

static void join(const ConfigDraft &config, LayerPlan &layer) {
  auto both = std::get<AttentionAndStateSpace>(*config.other);
  both.attention = std::get<Attention>(layer.tokenMixer);
  layer.tokenMixer = both;
}

constinit const Family falconH1 = {
    .architecture = "FalconH1ForCausalLM",
    .form = {.names = {.norm = "model.final_layernorm",
                       .feedForward = "feed_forward",
                       .feedForwardNorm = "pre_ff_layernorm"}},
    .layers = {.other = AttentionAndStateSpace{}, .otherType = "hybrid"},
    .vary = join,
    .json = {.positions = 8192,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .keys = {.flags = flags, .numbers = multipliers},
             .readOwn = readOwn},
    .gguf = {.name = "falcon-h1", .readOwn = readGgufOwn}};

} // namespace ingot::checkpoint::families
