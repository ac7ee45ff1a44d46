// SPDX-License-Identifier: Apache-2.0
// Phi-3, Phi-3.5 and Phi-4: one matrix for q, k and v and one for gate and up; heads rotate in
// part.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr CountKey window[] = {slidingWindow(0)};
static constexpr std::string_view meaningless[] = {"full_attn_mod", "interpolate_factor"};
static constexpr std::string_view refused[] = {"attention_bias", "mlp_bias"};

/// The window is the one that the checkpoint was trained with, although llama.cpp leaves it out.
/// Older converters did not write it: Phi-3 mini and medium with 4096 positions have one.
static void readGguf(GgufFields &fields, ConfigDraft &config) {
  const bool isSmallContext =
      config.maxPositions == 4096 && (config.layerCount() == 32 || config.layerCount() == 40);
  config.attention.slidingWindow = fields.unsignedIntegerOr(
      "attention.sliding_window", isSmallContext ? 2047 : 0, 0, Rope::mostPositions);
  Rope &rope = config.rope;
  rope.attentionFactor = fields.numberOr("rope.scaling.attn_factor", 1, 1e-6, 1e6);
  const bool divided = fields.hasTensor(kLongDivisors);
  if (divided != fields.hasTensor(kShortDivisors) ||
      (!divided && fields.stringOr("rope.scaling.type", "") == "longrope"))
    fields.fail(
        "rope.scaling.type",
        message("tensor ", inQuotes(divided ? kShortDivisors : kLongDivisors), " is missing"),
        "convert the model again");
  if (!divided)
    return;
  if (rope.type != RopeType::Default)
    fields.fail("rope.scaling.factor", "frequencies are scaled linearly and by tensors",
                "use a model with one of the two");
  rope.type = RopeType::LongRope;
  rope.attentionFactor = fields.number("rope.scaling.attn_factor", 1e-6, 1e6);
  rope.originalPositions = fields.unsignedIntegerOr("rope.scaling.original_context_length",
                                                    config.maxPositions, 1, Rope::mostPositions);
}

constinit const Family phi3 = {
    .architecture = "Phi3ForCausalLM",
    .layers = {.attention = {.fusedQkv = true}, .mlp = {.fusedGateUp = true}},
    .rotatesParts = true,
    .json = {.positions = 4096,
             .bos = 1,
             .eos = 32000,
             .epsilon = 1e-5,
             .rope = {.trained = 4096},
             // transformers takes others for longrope.
             .scaledRope = RopeType::LongRope,
             .keys = {.counts = window},
             .meaningless = meaningless,
             .refused = refused},
    .gguf = {.name = "phi3", .ropeType = "longrope", .readOwn = readGguf}};

} // namespace ingot::checkpoint::families
