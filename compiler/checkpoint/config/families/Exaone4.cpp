// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms behind attention and feed-forward, and of the heads of q and k; where there is a
// window, three of four layers have it, and the others do not rotate. K-EXAONE: norms before, and
// experts in all layers but the first.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/NopeLayers.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr CountKey window[] = {slidingWindow(4096)};
static constexpr CountKey ggufWindow[] = {
    {"attention.sliding_window", &Attention::slidingWindow, 0, 0, Rope::mostPositions}};

/// The pattern is a number, or letters that `layer_types` repeats.
static void readPattern(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "sliding_window_pattern";
  if (fields.has(key) && !fields.has("layer_types"))
    config.fullEvery = fields.unsignedInteger(key, 1, ModelConfig::mostLayers);
}

constinit const Family exaone4 = {.architecture = "Exaone4ForCausalLM",
                                  .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads},
                                             .norms = NormPlacement::Post,
                                             .fullEvery = 4},
                                  .vary = rotateInWindows,
                                  .json = {.kvHeads = 32,
                                           .bos = 0,
                                           .eos = 2,
                                           .epsilon = 1e-5,
                                           .keys = {.counts = window},
                                           .readOwn = readPattern},
                                  .gguf = {.name = "exaone4", .keys = {.counts = ggufWindow}}};

constinit const Family exaoneMoe = {
    .architecture = "ExaoneMoeForCausalLM",
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads},
               .experts = sigmoidExperts("e_score_correction_bias"),
               .fullEvery = 4},
    .vary = rotateInWindows,
    .json = {.kvHeads = 32,
             .bos = 1,
             .eos = 53,
             .epsilon = 1e-5,
             .expertsPerToken = 8,
             .keys = {.counts = window},
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   readPattern(fields, config);
                   RoutedExperts{.innerSize = 1024, .shared = "num_shared_experts", .scale = 2.5}
                       .read(fields, config);
                 }},
    .gguf = {.name = "exaone-moe",
             .keys = {.counts = ggufWindow},
             .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               readRoutedExperts(fields, config, 2);
             }}};

} // namespace ingot::checkpoint::families
