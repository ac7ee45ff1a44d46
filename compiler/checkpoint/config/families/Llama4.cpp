// SPDX-License-Identifier: Apache-2.0
// Llama 4: experts whose inputs are scaled, in all layers or in some, and one that all tokens go
// through; layers that rotate attend within chunks, and norm q and k behind it without factors; in
// the others queries grow with their position.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/NopeLayers.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr std::string_view meaningless[] = {"for_llm_compressor"};

static constexpr Experts experts() {
  Experts own = {.storage = ExpertStorage::Halves,
                 .module = "feed_forward",
                 .router = "router",
                 .shared = "shared_expert"};
  own.routing.sigmoid = own.routing.scalesInputs = true;
  own.routing.normTopkProb = false;
  return own;
}

/// `moe_layers` names the layers with experts; without it each `interleave_moe_layer_step`-th has
/// them.
static void readExpertLayers(JsonFields &fields, ConfigDraft &config) {
  const auto listed = fields.unsignedIntegers("moe_layers", 0, config.layerCount() - 1);
  const uint64_t step =
      fields.unsignedIntegerOr("interleave_moe_layer_step", 1, 1, ModelConfig::mostLayers);
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.sparseLayers.push_back(listed ? std::ranges::count(*listed, layer) != 0
                                         : (layer + 1) % step == 0);
  config.experts->sharedSize = config.experts->innerSize;
  config.mlp.innerSize =
      fields.unsignedIntegerOr("intermediate_size_mlp", 16384, 1, ModelConfig::widest);
}

static void readAttention(JsonFields &fields, ConfigDraft &config) {
  readNopeLayers(fields, config);
  const uint64_t absent = fields.isNull("attention_chunk_size") ? 0 : 8192;
  config.attention.slidingWindow =
      fields.unsignedIntegerOr("attention_chunk_size", absent, 1, Rope::mostPositions);
  config.slidingLayers = config.rotatingLayers;
  if (fields.booleanOr("use_qk_norm", true))
    config.attention.queryKeyNorm = QueryKeyNorm::Plain;
  const double scale = fields.numberOr("attn_scale", 0.1, 0, 1e6);
  const uint64_t floorScale = fields.unsignedIntegerOr("floor_scale", 8192, 1, Rope::mostPositions);
  constexpr std::string_view tuning = "attn_temperature_tuning";
  if (!fields.has(tuning) || !fields.isOff(tuning))
    config.attention.temperature = {.scale = scale, .floorScale = floorScale, .shift = 1};
}

/// As llama.cpp, which has the numbers of the published models; their files state none.
static void readGguf(GgufFields &fields, ConfigDraft &config) {
  constexpr uint64_t chunk = 8192, interval = 4, withoutNorms = 128;
  const bool isFull =
      fields.unsignedIntegerOr("attention.sliding_window", chunk, 0, Rope::mostPositions) == 0;
  const uint64_t step =
      fields.unsignedIntegerOr("interleave_moe_layer_step", 1, 1, ModelConfig::mostLayers);
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.sparseLayers.push_back((layer + 1) % step == 0);
  config.experts->sharedSize = config.experts->innerSize;
  if (config.experts->count != withoutNorms)
    config.attention.queryKeyNorm = QueryKeyNorm::Plain;
  if (isFull)
    return;
  rotateBut(interval, config);
  config.slidingLayers = config.rotatingLayers;
  config.attention.slidingWindow = chunk;
  config.attention.temperature = {.scale = 0.1, .floorScale = chunk, .shift = 1};
}

/// Layers that rotate norm q and k; in the others queries have a temperature.
static void varyByRotation(const ConfigDraft &, LayerPlan &layer) {
  Attention &attention = std::get<Attention>(layer.tokenMixer);
  if (attention.rope)
    attention.temperature = {};
  else
    attention.queryKeyNorm = QueryKeyNorm::None;
}

constinit const Family llama4 = {
    .architecture = "Llama4ForCausalLM",
    .form = {.names = {.feedForward = "feed_forward"}},
    .layers = {.attention = {.windowIsChunk = true, .ropeInterleaved = true, .normsRotated = true},
               .experts = experts()},
    .vary = varyByRotation,
    .json = {.positions = 131072,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .headDim = 128,
             .epsilon = 1e-5,
             .rope = {.theta = 500000},
             .expertsPerToken = 1,
             .expertCount = "num_local_experts",
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   readExpertLayers(fields, config);
                   readAttention(fields, config);
                 }},
    .gguf = {.name = "llama4", .ropeInterleaved = true, .readOwn = readGguf}};

} // namespace ingot::checkpoint::families
