// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V2 and V3 (also R1, V3.1 and Kimi K2): latent attention; experts in groups behind the
// first layers. GLM-4.7-Flash and Mistral 4 are V3 with other numbers; V3.2 and GLM-5 choose the
// positions that tokens attend to.
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

/// Layers of latent attention, which layer_types calls `type`.
static constexpr LayerPattern latentLayers(const Experts &experts,
                                           std::string_view type = "full_attention") {
  LayerPattern layers;
  layers.other = LatentAttention{};
  layers.otherType = type;
  layers.experts = experts;
  return layers;
}

static constexpr ConfigJson latentJson(void (*readOwn)(JsonFields &, ConfigDraft &),
                                       uint64_t positions, double epsilon = 1e-6,
                                       uint64_t perToken = 8) {
  return {.positions = positions,
          .bos = 0,
          .eos = 1,
          .headDim = 64,
          .epsilon = epsilon,
          .expertsPerToken = perToken,
          .expertCount = "n_routed_experts",
          .scaledRope = RopeType::Yarn,
          .meaningless = meaningless,
          .readOwn = readOwn};
}

static constexpr Experts biasedExperts = sigmoidExperts("gate.e_score_correction_bias");

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

constinit const Family deepSeekV2 = {.architecture = "DeepseekV2ForCausalLM",
                                     .layers = latentLayers(Experts{}),
                                     .vary = scaleLatent,
                                     .json = {.bos = 1,
                                              .eos = 2,
                                              .headDim = 64,
                                              .expertCount = "n_routed_experts",
                                              .scaledRope = RopeType::Yarn,
                                              .meaningless = meaningless,
                                              .readOwn = readV2}};

//===- DeepSeek-V3 --------------------------------------------------------------------------===//

static void readV3(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{}.read(fields, config);
  checkFrequency(fields);
  RoutedExperts{.innerSize = 2048, .scale = 2.5, .dense = 3, .groups = 8, .topkGroup = 4}.read(
      fields, config);
}

constinit const Family deepSeekV3 = {.architecture = "DeepseekV3ForCausalLM",
                                     .layers = latentLayers(biasedExperts),
                                     .vary = scaleLatent,
                                     .json = latentJson(readV3, 4096),
                                     .gguf = kLatentGguf};

//===- DeepSeek-V3.2 and GLM-5 --------------------------------------------------------------===//

/// The index that chooses positions, in all layers but those of GLM-5 that take another's choice.
static void readIndex(JsonFields &fields, ConfigDraft &config, uint64_t heads, bool interleaved) {
  auto &latent = std::get<LatentAttention>(*config.other);
  latent.index = {
      .heads = fields.unsignedIntegerOr("index_n_heads", heads, 1, ModelConfig::mostHeads),
      .dim = fields.unsignedIntegerOr("index_head_dim", 128, 2, ModelConfig::widestHead),
      .most = fields.unsignedIntegerOr("index_topk", 2048, 1, Rope::mostPositions),
      .ropeInterleaved = interleaved};
  if (latent.index.dim < latent.rotaryDim)
    fields.fail("index_head_dim", "INGOT-E1051",
                message(latent.index.dim, " columns, of which ", latent.rotaryDim, " rotate"),
                "correct it or qk_rope_head_dim");
  if (latent.queryRank == 0)
    fields.fail("q_lora_rank", "INGOT-E1057", "an index without a latent of q is not supported",
                "use a checkpoint with q_lora_rank");
}

static void readV32(JsonFields &fields, ConfigDraft &config) {
  readV3(fields, config);
  readIndex(fields, config, 64, false);
}

constinit const Family deepSeekV32 = {.architecture = "DeepseekV32ForCausalLM",
                                      .layers = latentLayers(biasedExperts, "indexed_attention"),
                                      .vary = scaleLatent,
                                      .json = latentJson(readV32, 163840)};

/// Of each layer whether it takes the choice of the one before: by a list, by a text with F or S
/// for each, or by how often layers choose.
static std::vector<bool> readShared(JsonFields &fields, uint64_t layers) {
  std::vector<bool> shared;
  const auto types = fields.texts("indexer_types");
  const std::string pattern = fields.stringOr("index_topk_pattern", "");
  const uint64_t every = fields.unsignedIntegerOr("index_topk_freq", 1, 1, layers),
                 offset = fields.unsignedIntegerOr("index_skip_topk_offset", 2, 0, layers);
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const uint64_t behind = layer + 1 > offset ? layer + 1 - offset : 0;
    std::string_view type = behind % every == 0 ? "full" : "shared";
    if (types)
      type = layer < types->size() ? std::string_view((*types)[layer]) : "";
    else if (!pattern.empty())
      type = layer >= pattern.size() ? "" : pattern[layer] == 'F' ? "full" : "shared";
    if (type != "full" && (type != "shared" || layer == 0))
      fields.fail(types ? "indexer_types" : "index_topk_pattern", "INGOT-E1057",
                  message("how layer ", layer, " chooses positions is not known"),
                  "known are full, and shared behind the first layer");
    shared.push_back(type == "shared");
  }
  return shared;
}

static void readGlm5(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{.queryRank = 2048, .plainDim = 192, .valueDim = 256}.read(fields, config);
  RoutedExperts{.innerSize = 2048, .scale = 2.5, .dense = 3}.read(fields, config);
  readIndex(fields, config, 32, true);
  config.sharedIndices = readShared(fields, config.layerCount());
}

constinit const Family glmMoeDsa = {.architecture = "GlmMoeDsaForCausalLM",
                                    .layers = latentLayers(biasedExperts, "indexed_attention"),
                                    .vary = scaleLatent,
                                    .json = latentJson(readGlm5, 202752, 1e-5)};

//===- GLM-4.7-Flash ------------------------------------------------------------------------===//

static void readGlm(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{.queryRank = 768, .plainDim = 192, .valueDim = 256}.read(fields, config);
  RoutedExperts{.innerSize = 1536, .scale = 1.8}.read(fields, config);
}

constinit const Family glm4MoeLite = {.architecture = "Glm4MoeLiteForCausalLM",
                                      .layers = latentLayers(biasedExperts),
                                      .vary = scaleLatent,
                                      .json = latentJson(readGlm, 202752, 1e-5, 4)};

//===- Mistral 4 ----------------------------------------------------------------------------===//

static void readMistral(JsonFields &fields, ConfigDraft &config) {
  LatentKeys{.queryRank = 1024, .latentRank = 256, .plainDim = 64}.read(fields, config);
  // Files say which part of a whole head rotates.
  const auto &latent = std::get<LatentAttention>(*config.other);
  config.attention.headDim = latent.queryDim();
  config.rotaryColumns = latent.rotaryDim;
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
                                   .layers = latentLayers(softmaxExperts()),
                                   .vary = scaleLatent,
                                   .rotatesParts = true,
                                   .json = {.positions = 1048576,
                                            .bos = 1,
                                            .eos = 2,
                                            .headDim = 64,
                                            .rope = {.takesBeta = true},
                                            .expertsPerToken = 4,
                                            .expertCount = "n_routed_experts",
                                            .scaledRope = RopeType::Yarn,
                                            .meaningless = meaningless,
                                            .readOwn = readMistral}};

} // namespace ingot::checkpoint::families
