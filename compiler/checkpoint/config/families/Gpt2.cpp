// SPDX-License-Identifier: Apache-2.0
// GPT-2: LayerNorm, biases everywhere, a feed-forward without gate, embeddings of positions in
// place of rotation; matrices are stored as [inputs, outputs].
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr KeyAlias aliases[] = {{"n_embd", "hidden_size"},
                                       {"n_head", "num_attention_heads"},
                                       {"n_inner", "intermediate_size"},
                                       {"n_layer", "num_hidden_layers"},
                                       {"n_positions", "max_position_embeddings"}};
static constexpr ActivationName activations[] = {{"gelu", Activation::Gelu},
                                                 {"gelu_fast", Activation::GeluTanh},
                                                 {"gelu_pytorch_tanh", Activation::GeluTanh}};
/// The fifth is about the type that scores are computed in.
static constexpr std::string_view meaningless[] = {"n_ctx",
                                                   "summary_activation",
                                                   "summary_first_dropout",
                                                   "summary_proj_to_labels",
                                                   "reorder_and_upcast_attn",
                                                   "summary_type",
                                                   "summary_use_proj",
                                                   "classifier_dropout"};
/// Of checkpoints with a head and without one.
static constexpr NameBeginning beginnings[] = {{"transformer.h.", "model.layers."},
                                               {"transformer.", "model."},
                                               {"h.", "model.layers."},
                                               {"wte.", "model.wte."},
                                               {"wpe.", "model.wpe."},
                                               {"ln_f.", "model.ln_f."}};

constinit const Family gpt2 = {
    .architecture = "GPT2LMHeadModel",
    .form = {.norm = NormKind::LayerBias,
             .inputsFirst = true,
             .learnedPositions = true,
             .names = {.embedding = "model.wte",
                       .norm = "model.ln_f",
                       .positions = "model.wpe",
                       .attention = "attn",
                       .queryKeyValue = "c_attn",
                       .output = "c_proj",
                       .up = "c_fc",
                       .down = "c_proj",
                       .inputNorm = "ln_1",
                       .feedForwardNorm = "ln_2",
                       .beginnings = beginnings}},
    .layers = {.attention = {.bias = true, .outputBias = true, .fusedQkv = true},
               .mlp = {.activation = Activation::GeluTanh, .isGated = false, .bias = true}},
    .json = {.positions = 1024,
             .bos = 50256,
             .eos = 50256,
             .epsilonKey = "layer_norm_epsilon",
             .epsilon = 1e-5,
             .tied = true,
             .activationKey = "activation_function",
             .activation = "gelu_new",
             .activations = activations,
             .aliases = aliases,
             .innerPerHidden = 4,
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   if (!fields.booleanOr("scale_attn_weights", true))
                     config.attention.scaling = 1;
                 }},
    // Its converter transposes the matrices.
    .gguf = {.name = "gpt2",
             .readOwn = [](GgufFields &, ConfigDraft &config) { config.inputsFirst = false; }}};

} // namespace ingot::checkpoint::families
