// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX 20B and Pythia: LayerNorm; attention and feed-forward add to the same x, each behind a
// norm of its own; q, k and v are one matrix, head by head; a part of each head rotates.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {
    {"attention_bias", &Attention::bias, true, &Attention::outputBias}};
static constexpr KeyAlias aliases[] = {{"rotary_emb_base", "rope_theta"},
                                       {"rotary_pct", "partial_rotary_factor"}};
static constexpr ActivationName activations[] = {{"gelu_fast", Activation::GeluTanh},
                                                 {"gelu_new", Activation::GeluTanh},
                                                 {"gelu_pytorch_tanh", Activation::GeluTanh}};
static constexpr std::string_view meaningless[] = {"classifier_dropout"};
static constexpr NameBeginning beginnings[] = {{"gpt_neox.", "model."}, {"embed_out.", "lm_head."}};

constinit const Family gptNeoX = {
    .architecture = "GPTNeoXForCausalLM",
    .form = {.norm = NormKind::LayerBias,
             .names = {.embedding = "model.embed_in",
                       .norm = "model.final_layer_norm",
                       .attention = "attention",
                       .queryKeyValue = "query_key_value",
                       .output = "dense",
                       .up = "dense_h_to_4h",
                       .down = "dense_4h_to_h",
                       .beginnings = beginnings}},
    .layers = {.attention = {.fusedQkv = true, .fusedByHeads = true},
               .mlp = {.activation = Activation::Gelu, .isGated = false},
               .norms = NormPlacement::Parallel},
    .rotatesParts = true,
    .json = {.bos = 0,
             .eos = 2,
             .epsilonKey = "layer_norm_eps",
             .epsilon = 1e-5,
             .rope = {.rotated = 0.25},
             .activation = "gelu",
             .activations = activations,
             .aliases = aliases,
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   config.mlp.bias = true;
                   if (!fields.booleanOr("use_parallel_residual", true))
                     config.norms = NormPlacement::Pre;
                 }},
    // Its converter puts the matrices of all heads behind each other.
    .gguf = {.name = "gptneox", .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               config.attention.fusedByHeads = false;
               config.attention.bias = fields.hasTensor("blk.0.attn_qkv.bias");
               if (!fields.booleanOr("use_parallel_residual", true))
                 config.norms = NormPlacement::Pre;
             }}};

} // namespace ingot::checkpoint::families
