// SPDX-License-Identifier: Apache-2.0
// OLMo 2 and 3: norms behind attention and feed-forward, and over all heads of q and of k. In the
// third, three of four layers slide, with frequencies that are not scaled.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr LayerPattern layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Rows},
                                        .norms = NormPlacement::Post};
static constexpr CountKey window[] = {slidingWindow(4096)};
static constexpr uint64_t fullEvery = 4;
static constexpr double theta = 500000;

static constexpr LayerPattern slidingLayers() {
  LayerPattern sliding = layers;
  sliding.fullEvery = fullEvery;
  return sliding;
}

constinit const Family olmo2 = {.architecture = "Olmo2ForCausalLM",
                                .layers = layers,
                                .json = {.eos = 50279, .epsilon = 1e-5, .keys = {.flags = flags}},
                                // llama.cpp knows the third as the second with a window.
                                .gguf = {.name = "olmo2",
                                         .ropeType = "yarn",
                                         .readOwn = [](GgufFields &fields, ConfigDraft &config) {
                                           config.attention.slidingWindow =
                                               fields.unsignedIntegerOr("attention.sliding_window",
                                                                        0, 0, Rope::mostPositions);
                                           if (config.attention.slidingWindow == 0)
                                             return;
                                           config.architecture = olmo3.architecture;
                                           config.fullEvery = fullEvery;
                                           config.slidingRope.emplace().theta = config.rope.theta;
                                         }}};

/// A rope_theta that stands alone is that of all layers, as in the releases of transformers that
/// write it so.
static void readTheta(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "rope_theta";
  const double given = fields.numberOr(key, theta, 1, 1e15);
  config.slidingRope.emplace().theta = given;
  if (given != theta)
    config.deviations.push_back({std::string(key), message(given), "that of all layers",
                                 message("transformers 5 takes ", theta,
                                         " for layers that slide, and writes rope_parameters"),
                                 /*isTold=*/true});
}

constinit const Family olmo3 = {.architecture = "Olmo3ForCausalLM",
                                .layers = slidingLayers(),
                                .json = {.eos = 50279,
                                         .epsilon = 1e-5,
                                         .rope = {.theta = theta},
                                         .keys = {.flags = flags, .counts = window},
                                         .readOwn = readTheta}};

} // namespace ingot::checkpoint::families
