// SPDX-License-Identifier: Apache-2.0
// gpt-oss: experts whose matrices are one tensor, clamped SwiGLU, attention sinks; every other
// layer slides.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr double least = 1e-3, most = 1e6;
static constexpr FlagKey flags[] = {
    {"attention_bias", &Attention::bias, true, &Attention::outputBias}};
static constexpr CountKey window[] = {slidingWindow(128)};
static constexpr NumberKey limit[] = {{"swiglu_limit", &Mlp::activationLimit, 7, least, most}};
static constexpr std::string_view meaningless[] = {"experts_per_token", "initial_context_length"};

static void readJson(JsonFields &fields, ConfigDraft &config) {
  // The slope is part of the activation here, not a number of the model's.
  if (fields.has("swiglu_alpha") && fields.number("swiglu_alpha", least, most) != 1.702)
    fields.fail("swiglu_alpha", "INGOT-E1053", "only 1.702 is supported",
                "use a checkpoint with it");
  // What transformers takes then are the numbers of one checkpoint.
  if (!fields.has("rope_scaling") && !fields.has("rope_parameters"))
    fields.fail("rope_scaling", "INGOT-E1052", "rope_scaling must be given for GptOssForCausalLM",
                "write the type and its numbers");
}

/// No key says that the blend of frequencies begins within a pair.
static void readGguf(GgufFields &fields, ConfigDraft &config) {
  config.rope.wholePairs = config.rope.type != RopeType::Yarn;
  config.attention.slidingWindow =
      fields.unsignedInteger("attention.sliding_window", 0, Rope::mostPositions);
}

constinit const Family gptOss = {
    .architecture = "GptOssForCausalLM",
    // Its converter took Hugging Face's name for the one that Gemma's files have.
    .form = {.names = {.ggufFeedForwardNorm = "post_attention_norm"}},
    .layers = {.attention = {.sinks = true},
               .mlp = {.activation = Activation::ClampedSwiglu, .activationLimit = 7},
               .experts =
                   Experts{.biases = true, .storage = ExpertStorage::Turns, .router = "router"},
               .fullEvery = 2},
    .json = {.positions = 131072,
             .kvHeads = 8,
             .headDim = 64,
             .epsilon = 1e-5,
             .rope = {.theta = 150000},
             .expertsPerToken = 4,
             .expertCount = "num_local_experts",
             .keys = {.flags = flags, .counts = window, .numbers = limit},
             .meaningless = meaningless,
             .readOwn = readJson},
    .gguf = {.name = "gpt-oss", .ropeType = "yarn", .readOwn = readGguf}};

} // namespace ingot::checkpoint::families
