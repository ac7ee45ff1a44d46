// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5: rotary pairs stand side by side; also with experts in all layers but the first, chosen
// by softmax with a bias.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static void readBiases(JsonFields &fields, ConfigDraft &config) {
  config.attention.bias = config.attention.outputBias = config.mlp.bias =
      fields.booleanOr("use_bias", false);
}

constinit const Family ernie45 = {
    .architecture = "Ernie4_5ForCausalLM",
    .layers = {.attention = {.ropeInterleaved = true}},
    .json = {.positions = 131072,
             .kvHeads = 2,
             .bos = 1,
             .eos = 2,
             .headDim = 128,
             .epsilon = 1e-5,
             .rope = {.theta = 500000},
             .tied = true,
             .readOwn = readBiases},
    .gguf = {.name = "ernie4_5", .ropeInterleaved = true, .writtenAs = &ernie45}};

//===- With experts -------------------------------------------------------------------------===//

static constexpr Experts experts() {
  Experts own;
  own.routing.bias = "moe_statics.e_score_correction_bias";
  own.routing.biasIsRow = true;
  return own;
}

static constexpr std::string_view meaningless[] = {"moe_capacity", "moe_gate", "moe_norm_min",
                                                   "moe_use_aux_free"};

/// Weights are divided by their sum or `moe_norm_min`, which no sum of the largest scores is below.
static void readExperts(JsonFields &fields, ConfigDraft &config) {
  readBiases(fields, config);
  Experts &own = *config.experts;
  own.innerSize = fields.unsignedIntegerOr("moe_intermediate_size", 1536, 1, ModelConfig::widest);
  own.sharedSize =
      own.innerSize * fields.unsignedIntegerOr("moe_num_shared_experts", 2, 0, Experts::most);
  const uint64_t first =
                     fields.unsignedIntegerOr("moe_layer_start_index", 1, 0, config.layerCount()),
                 each = fields.unsignedIntegerOr("moe_layer_interval", 1, 1, config.layerCount());
  // -1 is the last layer.
  double last = fields.numberOr("moe_layer_end_index", -1, -1, ModelConfig::mostLayers);
  if (last < 0)
    last = static_cast<double>(config.layerCount());
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.sparseLayers.push_back((layer + 1) % each == 0 && layer >= first &&
                                  static_cast<double>(layer) <= last);
}

constinit const Family ernie45Moe = {
    .architecture = "Ernie4_5_MoeForCausalLM",
    .layers = {.attention = {.ropeInterleaved = true}, .experts = experts()},
    .json = {.positions = 131072,
             .kvHeads = 4,
             .bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.theta = 500000},
             .tied = true,
             .expertsPerToken = 6,
             .expertCount = "moe_num_experts",
             .expertsOfToken = "moe_k",
             .meaningless = meaningless,
             .readOwn = readExperts},
    .gguf = {.name = "ernie4_5-moe",
             .ropeInterleaved = true,
             .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               config.experts->routing.biasIsRow = false;
               readRoutedExperts(fields, config, 1);
               if (fields.unsignedIntegerOr("interleave_moe_layer_step", 1, 1,
                                            config.layerCount()) != 1)
                 fields.fail("interleave_moe_layer_step", "only 1 is supported",
                             "use a model with experts in all layers that follow each other");
             }}};

} // namespace ingot::checkpoint::families
