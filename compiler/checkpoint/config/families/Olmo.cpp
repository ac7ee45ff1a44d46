// SPDX-License-Identifier: Apache-2.0
// OLMo 2 and 3: norms behind attention and feed-forward, and over all heads of q and of k. In the
// third, three of four layers slide, with frequencies that are not scaled.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr FamilyFacts facts = {.queryKeyNorm = QueryKeyNorm::Rows,
                                      .layerForm = LayerForm::Results};
static constexpr CountKey window[] = {slidingWindow(4096)};
static constexpr uint64_t fullEvery = 4;
static constexpr double theta = 500000;

static constexpr FamilyFacts slidingFacts() {
  FamilyFacts sliding = facts;
  sliding.fullEvery = fullEvery;
  return sliding;
}

constinit const Family olmo2 = {.architecture = "Olmo2ForCausalLM",
                                .facts = facts,
                                .json = {.eos = 50279, .epsilon = 1e-5, .keys = {.flags = flags}},
                                // llama.cpp knows the third as the second with a window.
                                .gguf = {.name = "olmo2",
                                         .ropeType = "yarn",
                                         .readOwn = [](GgufFields &fields, ModelConfig &config) {
                                           config.slidingWindow =
                                               fields.unsignedIntegerOr("attention.sliding_window",
                                                                        0, 0, Rope::mostPositions);
                                           if (config.slidingWindow == 0)
                                             return;
                                           config.architecture = olmo3.architecture;
                                           config.fullEvery = fullEvery;
                                           config.slidingRope.emplace().theta = config.rope.theta;
                                         }}};

constinit const Family olmo3 = {
    .architecture = "Olmo3ForCausalLM",
    .facts = slidingFacts(),
    .json = {.eos = 50279,
             .epsilon = 1e-5,
             .rope = {.theta = theta},
             .keys = {.flags = flags, .counts = window},
             // transformers gives a rope_theta that stands alone to the layers that do not slide.
             .readOwn = [](JsonFields &, ModelConfig &config) {
               config.slidingRope.emplace().theta = theta;
             }}};

} // namespace ingot::checkpoint::families
