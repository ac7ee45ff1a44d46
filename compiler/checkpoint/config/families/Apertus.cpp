// SPDX-License-Identifier: Apache-2.0
// Apertus: a feed-forward without gate, of xIELU; heads of q and k are normed.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
/// transformers reads none of these: heads are always normed.
static constexpr std::string_view meaningless[] = {"post_norm", "mlp_bias", "qk_norm"};

/// Its converter puts the numbers of xIELU into the metadata.
static void readNumbers(GgufFields &fields, ConfigDraft &config) {
  for (std::string_view name : {"alpha_p", "alpha_n", "beta", "eps"}) {
    const auto numbers = fields.ofLayers(message("xielu.", name), config.layerCount(), -1e6, 1e6);
    for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
      config.storedNumbers.emplace(message("model.layers.", layer, ".mlp.act_fn.", name),
                                   numbers[layer]);
  }
}

constinit const Family apertus = {
    .architecture = "ApertusForCausalLM",
    .form = {.names = {.inputNorm = "attention_layernorm",
                       .feedForwardNorm = "feedforward_layernorm"}},
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads},
               .mlp = {.activation = Activation::Xielu, .isGated = false}},
    .json = {.positions = 65536,
             .bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.theta = 12000000},
             .activation = "xielu",
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &) {
                   // What transformers takes then are the numbers of one checkpoint.
                   if (!fields.has("rope_scaling") && !fields.has("rope_parameters"))
                     fields.fail("rope_scaling", "INGOT-E1052",
                                 "rope_scaling must be given for ApertusForCausalLM",
                                 "write the type and its numbers");
                 }},
    .gguf = {.name = "apertus", .readOwn = readNumbers}};

} // namespace ingot::checkpoint::families
