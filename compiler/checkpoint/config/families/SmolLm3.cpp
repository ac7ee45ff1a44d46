// SPDX-License-Identifier: Apache-2.0
// SmolLM3: every fourth layer does not rotate q and k.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &ModelConfig::mlpBias}};
static constexpr uint64_t interval = 4;
static constexpr std::string_view meaningless[] = {"sliding_window", "no_rope_layer_interval"};

static void rotateBut(uint64_t each, ModelConfig &config) {
  for (uint64_t layer = 1; layer <= config.layers; ++layer)
    config.rotatingLayers.push_back(layer % each != 0);
}

/// `no_rope_layers` has 1 where a layer rotates.
static void readRotation(JsonFields &fields, ModelConfig &config) {
  if (fields.booleanOr("use_sliding_window", false))
    fields.fail("use_sliding_window", "INGOT-E1057",
                "windows are not supported for SmolLM3ForCausalLM", "use a checkpoint without");
  const auto rotates = fields.unsignedIntegers("no_rope_layers", 0, 1);
  if (!rotates)
    return rotateBut(
        fields.unsignedIntegerOr("no_rope_layer_interval", interval, 1, ModelConfig::mostLayers),
        config);
  if (rotates->size() != config.layers)
    return fields.fail(
        "no_rope_layers", "INGOT-E1057",
        message("this is no list of one number for each of ", config.layers, " layers"),
        "correct it, or leave it out");
  config.rotatingLayers.assign(rotates->begin(), rotates->end());
}

constinit const Family smolLm3 = {
    .architecture = "SmolLM3ForCausalLM",
    .json = {.positions = 32768,
             .kvHeads = 4,
             .bos = 128000,
             .eos = 128001,
             .rope = {.theta = 2e6},
             .tied = true,
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn = readRotation},
    .gguf = {.name = "smollm3",
             .rotaryPairRows = true,
             .readOwn = [](GgufFields &, ModelConfig &config) { rotateBut(interval, config); }}};

} // namespace ingot::checkpoint::families
