// SPDX-License-Identifier: Apache-2.0
// Nemotron-H, Nemotron Nano 2 and Nemotron 3: each layer is a state space, attention without
// positions, an MLP of squared ReLU without a gate, or experts of such MLPs.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/HybridGguf.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"
#include "compiler/checkpoint/config/families/StateSpaceKeys.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"mlp_bias", &Mlp::bias}};
static constexpr KeyAlias aliases[] = {{"attention_head_dim", "head_dim"}};
/// Of layers that only draft, and of how weights were first drawn.
static constexpr std::string_view meaningless[] = {"mtp_hybrid_override_pattern",
                                                   "mtp_layers_block_type",
                                                   "num_nextn_predict_layers",
                                                   "time_step_floor",
                                                   "time_step_max",
                                                   "time_step_min"};
static constexpr std::string_view refused[] = {"attention_bias"};

/// What the types of layers stand for, as letters or words.
static std::optional<char> kindOf(std::string_view type) {
  constexpr std::pair<std::string_view, char> words[] = {
      {"linear_attention", 'M'}, {"full_attention", '*'}, {"mlp", '-'}, {"moe", 'E'}};
  type = newTypeOf(type);
  for (const auto &[word, kind] : words)
    if (type == word || type == std::string_view(&kind, 1))
      return kind;
  return std::nullopt;
}

static void readKinds(JsonFields &fields, ConfigDraft &config) {
  std::string_view key = "layers_block_type";
  std::vector<std::string> types = fields.texts(key).value_or(std::vector<std::string>());
  if (const std::string pattern = fields.stringOr("hybrid_override_pattern", "");
      !pattern.empty()) {
    key = "hybrid_override_pattern";
    types.clear();
    for (char letter : pattern)
      types.emplace_back(1, letter);
  }
  if (types.size() != config.layerCount())
    return fields.fail(
        key, "INGOT-E1057",
        message("it is of ", types.size(), " layers, and the model has ", config.layerCount()),
        "correct it");
  for (const std::string &type : types) {
    const auto kind = kindOf(type);
    if (!kind || (kind == 'E' && !config.experts))
      return fields.fail(key, "INGOT-E1057",
                         message("layers of the kind ", inQuotes(type), " are not known"),
                         "known are M, *, - and, with n_routed_experts, E");
    config.otherLayers.push_back(kind == 'M');
    config.sparseLayers.push_back(kind == 'E');
    config.parts.push_back(kind == 'M' || kind == '*' ? LayerParts::Tokens : LayerParts::Channels);
  }
}

static void readSpace(JsonFields &fields, ConfigDraft &config) {
  StateSpace &space = std::get<StateSpace>(*config.other);
  space.module = "mixer";
  space.heads = fields.unsignedIntegerOr("mamba_num_heads", 128, 1, ModelConfig::mostHeads);
  space.headDim = fields.unsignedIntegerOr("mamba_head_dim", 64, 1, ModelConfig::widestHead);
  space.groups = fields.unsignedIntegerOr("n_groups", 8, 1, space.heads);
  space.stateDim = fields.unsignedIntegerOr("ssm_state_size", 128, 1, StateSpace::widestState);
  space.taps = fields.unsignedIntegerOr("conv_kernel", 4, 2, ShortConv::mostTaps);
  space.convBias = fields.booleanOr("use_conv_bias", true);
  space.bias = space.outputBias = fields.booleanOr("use_bias", false);
  if (space.heads % space.groups != 0)
    fields.fail("n_groups", "INGOT-E1051", "the groups do not divide mamba_num_heads",
                "correct one of the two");
  if (fields.stringOr("mamba_hidden_act", "silu") != "silu")
    fields.fail("mamba_hidden_act", "INGOT-E1053", "it is supported with silu alone",
                "use a checkpoint with it");
  readStepLimits(fields, space);
}

static void readOwn(JsonFields &fields, ConfigDraft &config) {
  readSpace(fields, config);
  if (config.experts) {
    RoutedExperts{.innerSize = 7688, .dense = 0}.read(fields, config);
    config.sparseLayers.clear();
    Experts &experts = *config.experts;
    experts.sharedSize = fields.unsignedIntegerOr("moe_shared_expert_intermediate_size", 7688, 1,
                                                  ModelConfig::widest);
    if (!fields.isOff("moe_latent_size"))
      experts.latentSize = fields.unsignedInteger("moe_latent_size", 1, ModelConfig::widest);
  }
  readKinds(fields, config);
  config.rotatingLayers.assign(config.layerCount(), false);
}

/// A layer without KV heads and without an MLP's width is a state space; one with a router has
/// experts.
static void readGgufLayers(GgufFields &fields, ConfigDraft &config) {
  constexpr std::string_view widths = "feed_forward_length";
  const uint64_t layers = config.layerCount();
  const std::vector<uint64_t> heads = readHybridHeads(fields, config);
  config.innerSizes =
      fields.countsOfLayers(widths, layers, 0, ModelConfig::widest, config.draftLayers);
  config.mlp.innerSize = std::max<uint64_t>(std::ranges::max(config.innerSizes), 1);
  if (fields.unsignedIntegerOr("expert_count", 0, 0, Experts::most) == 0)
    config.experts.reset();
  const std::vector<bool> routed = fields.layersWith("ffn_gate_inp.weight", layers);
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const bool attends = heads[layer] != 0, isMlp = config.innerSizes[layer] != 0;
    if (attends && isMlp)
      fields.fail(widths, message("layer ", layer, " has KV heads too"), "convert the model again");
    config.otherLayers.push_back(!attends && !isMlp);
    config.sparseLayers.push_back(isMlp && routed[layer]);
    config.parts.push_back(isMlp ? LayerParts::Channels : LayerParts::Tokens);
  }
  config.rotatingLayers.assign(layers, false);
  fields.has("attention.layer_norm_epsilon"); // the same number as of other norms
}

static void readGgufOwn(GgufFields &fields, ConfigDraft &config) {
  StateSpace &space = std::get<StateSpace>(*config.other);
  space.module = "mixer";
  readStateSpace(fields, config, space);
  if (!config.experts)
    return;
  const std::vector<bool> sparse = config.sparseLayers;
  readRoutedExperts(fields, config, /*gating=*/2);
  config.sparseLayers = sparse;
  Experts &experts = *config.experts;
  experts.sharedSize = fields.unsignedIntegerOr("expert_shared_feed_forward_length",
                                                experts.sharedSize, 0, ModelConfig::widest);
  experts.latentSize = fields.unsignedIntegerOr("moe_latent_size", 0, 0, ModelConfig::widest);
}

static constexpr NameBeginning beginnings[] = {{"backbone.", "model."}};

static constexpr Experts experts() {
  Experts own = sigmoidExperts("gate.e_score_correction_bias");
  own.module = "mixer";
  return own;
}

constinit const Family nemotronH = {
    .architecture = "NemotronHForCausalLM",
    .form = {.names = {.embedding = "model.embeddings",
                       .norm = "model.norm_f",
                       .attention = "mixer",
                       .feedForward = "mixer",
                       .inputNorm = "norm",
                       .feedForwardNorm = "norm",
                       .ggufFeedForwardNorm = "attn_norm",
                       .beginnings = beginnings}},
    .layers = {.other = StateSpace{},
               .otherType = "linear_attention",
               .mlp = {.activation = Activation::Relu2, .isGated = false},
               .experts = experts()},
    .json = {.positions = 4096,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .headDim = 128,
             .heads = 32,
             .epsilonKey = "layer_norm_epsilon",
             .epsilon = 1e-5,
             .expertsPerToken = 2,
             .activationKey = "mlp_hidden_act",
             .activation = "relu2",
             .aliases = aliases,
             .expertCount = "n_routed_experts",
             .expertsMayLack = true,
             .layerList = "layers_block_type",
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .refused = refused,
             .readOwn = readOwn},
    .gguf = {.name = "nemotron_h",
             .otherName = "nemotron_h_moe",
             .ropeInterleaved = true,
             .readLayers = readGgufLayers,
             .readOwn = readGgufOwn}};

} // namespace ingot::checkpoint::families
