// SPDX-License-Identifier: Apache-2.0
// Qwen3-Next and Qwen3.5 to 3.8: gated delta nets in most layers, gated attention in the others,
// factors of norms stored less 1, a quarter of each head rotates; also with experts.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/SparseLayers.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias,
                                    {"attn_output_gate", &Attention::outputGate, true}};
/// Of layers that only draft. The last one is about files that leave vision out.
static constexpr std::string_view draftKeys[] = {
    "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings", "language_model_only"};
/// Likewise, where all layers have experts.
static constexpr std::string_view sparseKeys[] = {"intermediate_size", "language_model_only",
                                                  "mtp_num_hidden_layers",
                                                  "mtp_use_dedicated_embeddings"};
static constexpr std::string_view refused[] = {"mlp_only_layers"};

/// Refuses a key that says what only `first` or `second` may say.
static void expect(JsonFields &fields, std::string_view key, std::string_view first,
                   std::string_view second) {
  const std::string value = fields.stringOr(key, std::string(first));
  if (value != first && value != second)
    fields.fail(key, "INGOT-E1057", message(inQuotes(value), " is not supported"),
                message("use a checkpoint with ", first));
}

/// All layers but each `interval`-th are delta nets.
static void makeOthers(ConfigDraft &config, uint64_t interval) {
  for (uint64_t layer = 1; layer <= config.layerCount(); ++layer)
    config.otherLayers.push_back(layer % interval != 0);
}

static void readDeltaNet(JsonFields &fields, ConfigDraft &config) {
  GatedDeltaNet &net = std::get<GatedDeltaNet>(*config.other);
  auto heads = [&](std::string_view key, uint64_t absent) {
    return fields.unsignedIntegerOr(key, absent, 1, ModelConfig::mostHeads);
  };
  auto columns = [&](std::string_view key) {
    return fields.unsignedIntegerOr(key, 128, 1, ModelConfig::widestHead);
  };
  net.keyHeads = heads("linear_num_key_heads", 16);
  net.valueHeads = heads("linear_num_value_heads", 32);
  net.keyDim = columns("linear_key_head_dim");
  net.valueDim = columns("linear_value_head_dim");
  net.taps = fields.unsignedIntegerOr("linear_conv_kernel_dim", 4, 2, ShortConv::mostTaps);
  if (net.valueHeads % net.keyHeads != 0)
    fields.fail("linear_num_key_heads", "INGOT-E1051",
                message(net.keyHeads, " key heads do not divide ", net.valueHeads, " value heads"),
                "correct the two");
  expect(fields, "mamba_ssm_dtype", "float32", "torch.float32");
  expect(fields, "output_gate_type", "swish", "silu");
  makeOthers(config,
             fields.unsignedIntegerOr("full_attention_interval", 4, 1, ModelConfig::mostLayers));
}

/// transformers reads no norm_topk_prob of Qwen3.5 and always divides; a file that says otherwise
/// means what it says.
static void readExperts(JsonFields &fields, ConfigDraft &config) {
  Experts &experts = *config.experts;
  experts.innerSize =
      fields.unsignedIntegerOr("moe_intermediate_size", 512, 1, ModelConfig::widest);
  experts.sharedSize =
      fields.unsignedIntegerOr("shared_expert_intermediate_size", 512, 1, ModelConfig::widest);
  experts.routing.normTopkProb = fields.booleanOr("norm_topk_prob", true);
}

/// Layers of Qwen3-Next may have no experts.
static void readNext(JsonFields &fields, ConfigDraft &config) {
  readDeltaNet(fields, config);
  readExperts(fields, config);
  readSparseLayers(fields, config);
}

//===- GGUF ---------------------------------------------------------------------------------===//

/// Files of models with experts may leave out the width of an MLP.
static void readGgufLayers(GgufFields &fields, ConfigDraft &config) {
  config.mlp.innerSize = fields.unsignedIntegerOr("feed_forward_length", 1, 1, ModelConfig::widest);
  config.attention.kvHeads =
      fields.unsignedInteger("attention.head_count_kv", 1, config.attention.heads);
}

/// A list says which layers are delta nets, or each so many-th is none.
static void readGgufDeltaNet(GgufFields &fields, ConfigDraft &config) {
  GatedDeltaNet &net = std::get<GatedDeltaNet>(*config.other);
  constexpr std::string_view listed = "attention.recurrent_layers",
                             valueHeads = "ssm.time_step_rank", valueColumns = "ssm.inner_size";
  net.keyHeads = fields.unsignedInteger("ssm.group_count", 1, ModelConfig::mostHeads);
  net.valueHeads = fields.unsignedInteger(valueHeads, 1, ModelConfig::mostHeads);
  net.keyDim = fields.unsignedInteger("ssm.state_size", 1, ModelConfig::widestHead);
  net.taps = fields.unsignedInteger("ssm.conv_kernel", 2, ShortConv::mostTaps);
  const uint64_t columns =
      fields.unsignedInteger(valueColumns, 1, ModelConfig::mostHeads * ModelConfig::widestHead);
  net.valueDim = columns / net.valueHeads;
  if (net.valueHeads % net.keyHeads != 0)
    fields.fail(valueHeads,
                message(net.keyHeads, " key heads do not divide ", net.valueHeads, " value heads"),
                "correct the two", "INGOT-E1051");
  if (columns % net.valueHeads != 0 || net.valueDim > ModelConfig::widestHead)
    fields.fail(valueColumns,
                message(columns, " columns are not those of ", net.valueHeads, " value heads"),
                "correct the two", "INGOT-E1051");
  net.expDecay = true;
  // Of these the converter puts heads in another order; the other has [b|a] of each key head.
  net.tiledHeads = !net.gatesByHeads && net.keyHeads != 1 && net.keyHeads != net.valueHeads;
  net.fusedByHeads = net.gatesByHeads && fields.hasTensor("blk.0.ssm_in.weight"); // older files
  fields.has("rope.dimension_sections");                                          // of images alone
  const uint64_t interval =
      fields.unsignedIntegerOr("full_attention_interval", 4, 1, ModelConfig::mostLayers);
  if (fields.has(listed))
    config.otherLayers = fields.flagsOfLayers(listed, config.layerCount());
  else
    makeOthers(config, interval);
}

static void readGgufExperts(GgufFields &fields, ConfigDraft &config) {
  readGgufDeltaNet(fields, config);
  Experts &experts = *config.experts;
  experts.innerSize = fields.unsignedInteger("expert_feed_forward_length", 1, ModelConfig::widest);
  experts.sharedSize =
      fields.unsignedInteger("expert_shared_feed_forward_length", 1, ModelConfig::widest);
  experts.routing.normTopkProb = true;
}

static constexpr GgufMetadata denseGguf = {.name = "qwen35", .readOwn = readGgufDeltaNet};

static constexpr GgufMetadata sparseGguf(std::string_view name) {
  return {.name = name, .readLayers = readGgufLayers, .readOwn = readGgufExperts};
}

//===- Families -----------------------------------------------------------------------------===//

static constexpr ModelForm form = {.names = {.ggufFeedForwardNorm = "post_attention_norm"},
                                   .normsLessOne = true};

static constexpr LayerPattern pattern(bool fusedByHeads) {
  return {.attention = {.queryKeyNorm = QueryKeyNorm::Heads, .outputGate = true},
          .other = GatedDeltaNet{.fusedByHeads = fusedByHeads, .gatesByHeads = fusedByHeads},
          .otherType = "linear_attention"};
}

static constexpr LayerPattern withExperts(LayerPattern layers, ExpertStorage storage) {
  layers.experts = Experts{.sharedGated = true, .storage = storage, .shared = "shared_expert"};
  return layers;
}

static constexpr ConfigJson json(uint64_t kvHeads, uint64_t expertsPerToken,
                                 std::span<const std::string_view> meaningless,
                                 void (*read)(JsonFields &fields, ConfigDraft &config)) {
  return {.positions = 32768,
          .kvHeads = kvHeads,
          .headDim = 256,
          .rope = {.rotated = 0.25},
          .expertsPerToken = expertsPerToken,
          .keys = {.flags = flags},
          .meaningless = meaningless,
          .readOwn = read};
}

static constexpr ConfigJson sparseJson() {
  ConfigJson own = json(2, 8, sparseKeys, [](JsonFields &fields, ConfigDraft &config) {
    readDeltaNet(fields, config);
    readExperts(fields, config);
  });
  own.innerKey = "moe_intermediate_size";
  own.refused = refused;
  return own;
}

constinit const Family qwen3Next = {.architecture = "Qwen3NextForCausalLM",
                                    .form = form,
                                    .layers = withExperts(pattern(true), ExpertStorage::Apart),
                                    .rotatesParts = true,
                                    .json = json(2, 10, draftKeys, readNext),
                                    .gguf = sparseGguf("qwen3next")};

constinit const Family qwen35 = {.architecture = "Qwen3_5ForCausalLM",
                                 .form = form,
                                 .layers = pattern(false),
                                 .rotatesParts = true,
                                 .json = json(4, 0, draftKeys, readDeltaNet),
                                 .gguf = denseGguf};

constinit const Family qwen35Moe = {.architecture = "Qwen3_5MoeForCausalLM",
                                    .form = form,
                                    .layers = withExperts(pattern(false), ExpertStorage::Halves),
                                    .rotatesParts = true,
                                    .json = sparseJson(),
                                    .gguf = sparseGguf("qwen35moe")};

} // namespace ingot::checkpoint::families
