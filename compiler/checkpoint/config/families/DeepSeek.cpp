// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V2 and V3 (also R1, V3.1 and Kimi K2): latent attention; experts in groups behind the
// first layers. GLM-4.7-Flash and Mistral 4 are V3 with other numbers.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/LatentGguf.h"
#include "compiler/checkpoint/config/families/LatentKeys.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr std::string_view meaningless[] = {"aux_loss_alpha", "ep_size", "num_mtp_layers",
                                                   "scoring_func",   "seq_aux", "topk_method"};

/// Experts in every layer behind the dense ones.
static void checkFrequency(JsonFields &fields) {
  if (fields.unsignedIntegerOr("moe_layer_freq", 1, 1, ModelConfig::mostLayers) != 1)
    fields.fail("moe_layer_freq", "INGOT-E1057", "layers without experts between others that have",
                "use a checkpoint where it is 1");
}

//===- DeepSeek-V2 --------------------------------------------------------------------------===//

static void readV2(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{}.read(fields, config);
  checkFrequency(fields);
  const std::string method = fields.stringOr("topk_method", "greedy");
  const uint64_t groups = method == "greedy" ? 0 : 1;
  RoutedExperts{.innerSize = 1407, .absentShared = 2, .dense = 0, .groups = groups}.read(fields,
                                                                                         config);
  if (method != "greedy" && method != "group_limited_greedy")
    fields.fail("topk_method", "INGOT-E1057", message(inQuotes(method), " is not supported"),
                "supported are greedy and group_limited_greedy");
  // transformers never does, and all published models say false.
  if (fields.booleanOr("norm_topk_prob", false))
    fields.fail("norm_topk_prob", "INGOT-E1057",
                "weights of experts that sum to 1 are not supported for this family",
                "use a checkpoint where it is false");
  config.experts->routing.normTopkProb = false;
}

constinit const Family deepSeekV2 = {
    .architecture = "DeepseekV2ForCausalLM",
    .layers = {.other = LatentAttention{}, .otherType = "full_attention", .experts = Experts{}},
    .vary = scaleLatent,
    .json = {.bos = 1,
             .eos = 2,
             .headDim = 64,
             .scaledRope = RopeType::Yarn,
             .expertCount = "n_routed_experts",
             .meaningless = meaningless,
             .readOwn = readV2}};

//===- DeepSeek-V3 --------------------------------------------------------------------------===//

static void readV3(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{}.read(fields, config);
  checkFrequency(fields);
  RoutedExperts{.innerSize = 2048, .scale = 2.5, .dense = 3, .groups = 8, .topkGroup = 4}.read(
      fields, config);
}

constinit const Family deepSeekV3 = {
    .architecture = "DeepseekV3ForCausalLM",
    .layers = {.other = LatentAttention{},
               .otherType = "full_attention",
               .experts = sigmoidExperts("gate.e_score_correction_bias")},
    .vary = scaleLatent,
    .json = {.positions = 4096,
             .bos = 0,
             .eos = 1,
             .headDim = 64,
             .scaledRope = RopeType::Yarn,
             .expertsPerToken = 8,
             .expertCount = "n_routed_experts",
             .meaningless = meaningless,
             .readOwn = readV3},
    .gguf = kLatentGguf};

//===- GLM-4.7-Flash ------------------------------------------------------------------------===//

static void readGlm(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{.queryRank = 768, .plainDim = 192, .valueDim = 256}.read(fields, config);
  RoutedExperts{.innerSize = 1536, .scale = 1.8}.read(fields, config);
}

constinit const Family glm4MoeLite = {
    .architecture = "Glm4MoeLiteForCausalLM",
    .layers = {.other = LatentAttention{},
               .otherType = "full_attention",
               .experts = sigmoidExperts("gate.e_score_correction_bias")},
    .vary = scaleLatent,
    .json = {.positions = 202752,
             .bos = 0,
             .eos = 1,
             .headDim = 64,
             .epsilon = 1e-5,
             .scaledRope = RopeType::Yarn,
             .expertsPerToken = 4,
             .expertCount = "n_routed_experts",
             .meaningless = meaningless,
             .readOwn = readGlm}};

//===- Mistral 4 ----------------------------------------------------------------------------===//

static void readMistral(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{.queryRank = 1024, .latentRank = 256, .plainDim = 64}.read(fields, config);
  RoutedExperts{.innerSize = 2048, .dense = 0}.read(fields, config);
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling"))
    fields.fail("rope_parameters", "INGOT-E1052",
                "rope_parameters must be given for Mistral4ForCausalLM",
                "write the type and its numbers");
}

/// Softmax scores, in groups by their two best.
static constexpr Experts softmaxExperts() {
  Experts experts;
  experts.storage = ExpertStorage::Halves;
  experts.routing.groupTopk = 2;
  experts.routing.epsilon = 1e-20;
  return experts;
}

constinit const Family mistral4 = {.architecture = "Mistral4ForCausalLM",
                                   .layers = {.other = LatentAttention{},
                                              .otherType = "full_attention",
                                              .experts = softmaxExperts()},
                                   .vary = scaleLatent,
                                   .json = {.positions = 1048576,
                                            .bos = 1,
                                            .eos = 2,
                                            .headDim = 64,
                                            .rope = {.takesBeta = true},
                                            .scaledRope = RopeType::Yarn,
                                            .expertsPerToken = 4,
                                            .expertCount = "n_routed_experts",
                                            .meaningless = meaningless,
                                            .readOwn = readMistral}};

} // namespace ingot::checkpoint::families
