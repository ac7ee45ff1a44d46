// SPDX-License-Identifier: Apache-2.0
// Gemma 4 (text): layers that slide have other heads than full ones; v is normed, and may be k;
// scores are not scaled, layers are; last layers may read what earlier ones keep, tokens have
// inputs for every layer, and experts stand beside MLPs.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/Gemma4Gguf.h"
#include "compiler/checkpoint/config/families/GemmaLayers.h"
#include "compiler/checkpoint/config/families/VisionFamily.h"

namespace ingot::checkpoint::families {

/// ModelOpt takes experts apart under a module of its own.
static constexpr NameBeginning beginnings[] = {{"model.layers.*.moe.", "model.layers.*."}};
static constexpr ModuleNames names = {.feedForwardNorm = "pre_feedforward_layernorm",
                                      .beginnings = beginnings};
static constexpr FlagKey flags[] = {kAttentionBias,
                                    {"attention_k_eq_v", &Attention::valueIsKey},
                                    {"use_double_wide_mlp", &LayerPattern::sharingWide}};
static constexpr CountKey window(uint64_t absent) {
  return {"sliding_window", &Attention::slidingWindow, absent, 1, Rope::mostPositions};
}
static constexpr CountKey gemma4Counts[] = {window(512), sharingLayers(0)};
static constexpr CountKey unifiedCounts[] = {window(1024), sharingLayers(0)};
static constexpr NumberKey cap[] = {logitsCap(0)};
static constexpr std::string_view refused[] = {"enable_moe_block"};

/// Heads of full layers, where they are not those that slide.
struct FullHeads {
  uint64_t headDim = 0, kvHeads = 0;
  bool operator==(const FullHeads &) const = default;
};

constexpr std::string_view byLayerKey = "per_layer_config";

/// What `per_layer_config`, as transformers 5.24 saves it, has of layer `number`; `absent`: of keys
/// that it has not.
static FullHeads headsOfLayer(JsonFields &fields, const Json &own, const std::string &number,
                              const FullHeads &absent) {
  constexpr std::string_view headDim = "head_dim", kvHeads = "num_key_value_heads";
  JsonFields layer(own);
  const FullHeads heads = {
      layer.unsignedIntegerOr(headDim, absent.headDim, 2, ModelConfig::widestHead),
      layer.unsignedIntegerOr(kvHeads, absent.kvHeads, 1, ModelConfig::mostHeads)};
  if (layer.error())
    fields.fail(byLayerKey, layer.error()->code, layer.error()->what, layer.error()->fix);
  for (const std::string &key : own.keys())
    if (key != headDim && key != kvHeads)
      fields.fail(byLayerKey, "INGOT-E1057",
                  message("layer ", number, ": ", inQuotes(key), " of one layer is not supported"),
                  "use a checkpoint whose layers differ in their heads alone");
  return heads;
}

/// The heads of full layers by `per_layer_config`, which must name all of them, and alike, or none.
static FullHeads headsByLayer(JsonFields &fields, const ConfigDraft &config,
                              const FullHeads &others) {
  const Json object = *config.raw.find(byLayerKey);
  std::optional<FullHeads> found;
  bool isAlike = object.isObject();
  uint64_t named = 0, full = 0;
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer) {
    const std::string number = std::to_string(layer);
    const auto own = object.find(number);
    full += !config.slides(layer);
    if (!own)
      continue;
    ++named;
    const FullHeads heads = headsOfLayer(fields, *own, number, others);
    isAlike &= !config.slides(layer) && heads == found.value_or(heads);
    found = heads;
  }
  if (!isAlike || named != object.size() || (named != 0 && named != full))
    fields.fail(byLayerKey, "INGOT-E1057",
                "only full layers may have heads of their own, all of them the same ones",
                "use a checkpoint of Gemma 4's form");
  return found.value_or(others);
}

static void readHeads(JsonFields &fields, ConfigDraft &config) {
  Attention &attention = config.attention;
  config.slidingHeadDim = attention.headDim;
  config.slidingKvHeads = attention.kvHeads;
  const FullHeads sliding = {attention.headDim, attention.kvHeads};
  FullHeads full = {
      fields.unsignedIntegerOr("global_head_dim", 512, 2, ModelConfig::widestHead),
      fields.unsignedIntegerOr("num_global_key_value_heads", sliding.kvHeads, 1, attention.heads)};
  if (!attention.valueIsKey)
    full.kvHeads = sliding.kvHeads;
  if (fields.has(byLayerKey))
    full = headsByLayer(fields, config, sliding);
  if (full.headDim % 2 != 0 || attention.heads % full.kvHeads != 0)
    fields.fail(fields.has(byLayerKey) ? byLayerKey : "global_head_dim", "INGOT-E1051",
                message(full.kvHeads, " KV heads of ", full.headDim,
                        " elements: the first must divide ", attention.heads,
                        " heads, the second be even"),
                "correct the heads of full layers");
  attention.headDim = full.headDim;
  attention.kvHeads = full.kvHeads;
}

/// transformers gives the last layer no window, whatever the list says.
static void makeLastFull(ConfigDraft &config) {
  const uint64_t last = config.layerCount() - 1;
  if (!config.slides(last))
    return;
  std::vector<bool> sliding;
  for (uint64_t layer = 0; layer < last; ++layer)
    sliding.push_back(config.slides(layer));
  sliding.push_back(false);
  config.slidingLayers = std::move(sliding);
  config.deviations.push_back({"layer_types", "the last layer slides", "it is full",
                               "transformers makes it so", /*isTold=*/true});
}

static void readLayers(JsonFields &fields, ConfigDraft &config) {
  makeLastFull(config);
  readHeads(fields, config);
  checkSharing(fields, config);
}

static void readText(JsonFields &fields, ConfigDraft &config) {
  config.embeddingMultiplier = rootInOwnType(config, config.hiddenSize);
  config.slidingRope.emplace().theta = 10000;
  constexpr std::string_view direction = "use_bidirectional_attention";
  // Of images, which no prompt has.
  if (fields.has(direction) && !fields.isOff(direction) &&
      fields.stringOr(direction, "vision") != "vision")
    fields.fail(direction, "INGOT-E1057", "text that attends to what follows it is not supported",
                "use a checkpoint without it");
}

static void readInputs(JsonFields &fields, ConfigDraft &config) {
  const bool isNone = fields.isNull("hidden_size_per_layer_input");
  readLayerInputs(fields, config, {.absent = isNone ? uint64_t{0} : 256, .least = 0});
  const LayerInputs &inputs = config.layerInputs;
  if (inputs.columns != 0 && inputs.rows < config.vocabSize)
    fields.fail("vocab_size_per_layer_input", "INGOT-E1051",
                message("there are inputs of layers for ", inputs.rows, " of ", config.vocabSize,
                        " tokens"),
                "correct it, or vocab_size");
}

static void readExperts(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view count = "num_experts", ofToken = "top_k_experts",
                             size = "moe_intermediate_size";
  if (!fields.booleanOr("enable_moe_block", false)) {
    for (std::string_view key : {count, ofToken, size})
      fields.has(key); // they say nothing then
    return;
  }
  Experts &experts = config.experts.emplace(gemma4Experts());
  experts.storage = ExpertStorage::Halves;
  experts.count = fields.unsignedInteger(count, 1, Experts::most);
  experts.perToken = fields.unsignedInteger(ofToken, 1, Experts::most);
  experts.innerSize = fields.unsignedInteger(size, 1, ModelConfig::widest);
  if (experts.perToken > experts.count)
    fields.fail(ofToken, "INGOT-E1051",
                message(experts.perToken, " experts for each token, but there are ", experts.count),
                "correct it or num_experts");
}

/// Layers that slide have a v of their own; those without keys and values may have wider MLPs.
static void varyLayer(const ConfigDraft &config, LayerPlan &layer) {
  Attention &attention = std::get<Attention>(layer.tokenMixer);
  if (attention.slidingWindow != 0)
    attention.valueIsKey = false;
  Mlp mlp = config.mlp;
  if (config.sharingWide && attention.cacheLayer)
    mlp.innerSize *= 2;
  if (config.experts)
    layer.channelMixer = MlpAndExperts{mlp, std::get<Experts>(layer.channelMixer)};
  else
    layer.channelMixer = mlp;
}

static constexpr ModelForm form = {.scaledLayers = true, .names = names};
static constexpr LayerPattern layers = {
    .attention = {.queryKeyNorm = QueryKeyNorm::Heads, .valueNorm = true, .scaling = 1},
    .mlp = {.activation = Activation::GeluTanh},
    .norms = NormPlacement::Sandwich,
    .fullEvery = 6};

static constexpr ConfigJson json(uint64_t positions, std::span<const CountKey> countKeys) {
  return {.positions = positions,
          .kvHeads = 4,
          .bos = 2,
          .eos = 1,
          .headDim = 256,
          .heads = 8,
          .vocabulary = 262144,
          .rope = {.theta = 1e6, .proportional = 0.25},
          .tied = true,
          .activationKey = "hidden_activation",
          .activation = "gelu_pytorch_tanh",
          .keys = {.flags = flags, .counts = countKeys, .numbers = cap},
          .readLayers = readLayers};
}

static constexpr ConfigJson gemma4Json() {
  ConfigJson own = json(131072, gemma4Counts);
  own.readOwn = [](JsonFields &fields, ConfigDraft &config) {
    readText(fields, config);
    readInputs(fields, config);
    readExperts(fields, config);
  };
  return own;
}

static constexpr ConfigJson unifiedJson() {
  ConfigJson own = json(262144, unifiedCounts);
  own.refused = refused;
  own.readOwn = readText;
  return own;
}

constinit const Family gemma4 = {.architecture = "Gemma4ForCausalLM",
                                 .form = form,
                                 .layers = layers,
                                 .vary = varyLayer,
                                 .json = gemma4Json(),
                                 .gguf = {.name = "gemma4",
                                          .keys = {.numbers = Gemma4Gguf::cap},
                                          .readLayers = Gemma4Gguf::readLayers,
                                          .readOwn = Gemma4Gguf::readOwn}};

constinit const Family gemma4Unified = {.architecture = "Gemma4UnifiedForCausalLM",
                                        .form = form,
                                        .layers = layers,
                                        .vary = varyLayer,
                                        .json = unifiedJson()};

//===- With images and sound ----------------------------------------------------------------===//

static constexpr std::string_view aroundKeys[] = {
    "audio_config", "audio_token_id",  "boa_token_id",  "boi_token_id",
    "eoa_token_id", "eoa_token_index", "eoi_token_id",  "image_token_id",
    "text_config",  "video_token_id",  "vision_config", "vision_soft_tokens_per_image"};
static constexpr std::string_view placeholders[] = {"image_token_id", "audio_token_id",
                                                    "video_token_id"};
static constexpr TextPart gemma4Text[] = {{"gemma4_text", &gemma4}};
static constexpr TextPart unifiedText[] = {{"gemma4_unified_text", &gemma4Unified}};

constinit const Family gemma4Vision = {.architecture = "Gemma4ForConditionalGeneration",
                                       .json = {.meaningless = aroundKeys},
                                       .wrapper = {.texts = gemma4Text,
                                                   .skipped = partsBesideText,
                                                   .tied = true,
                                                   .placeholders = placeholders,
                                                   .vision = &gemma4Tower}};

constinit const Family gemma4UnifiedVision = {.architecture =
                                                  "Gemma4UnifiedForConditionalGeneration",
                                              .json = {.meaningless = aroundKeys},
                                              .wrapper = {.texts = unifiedText,
                                                          .skipped = partsBesideText,
                                                          .tied = true,
                                                          .placeholders = placeholders,
                                                          .vision = &gemma4Embedder}};

} // namespace ingot::checkpoint::families
