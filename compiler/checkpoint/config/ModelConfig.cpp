// SPDX-License-Identifier: Apache-2.0
// Reading and checking config.json. Every architecture that is read has a row in `families`.
#include "compiler/checkpoint/config/ModelConfig.h"

#include "compiler/checkpoint/config/ConfigKeys.h"
#include "compiler/checkpoint/config/GenerationConfig.h"
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/files/NearestName.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t longestConfig = uint64_t{16} << 20;

std::optional<DType> declaredType(JsonFields &fields) {
  constexpr std::array<std::pair<std::string_view, DType>, 4> names = {{
      {"float32", DType::F32},
      {"float16", DType::F16},
      {"bfloat16", DType::BF16},
      {"float64", DType::F64},
  }};
  std::string_view key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key))
    return std::nullopt;
  std::string text = fields.stringOr(key, "");
  std::string_view bare = text;
  if (bare.starts_with("torch."))
    bare.remove_prefix(6);
  for (auto [name, dtype] : names)
    if (bare == name)
      return dtype;
  fields.fail(key, "INGOT-E1055", message("unknown type ", inQuotes(text)),
              "write float32, float16, bfloat16 or float64");
  return std::nullopt;
}

/// What absent keys of a family mean in transformers.
struct FamilyDefaults {
  std::string_view architecture;
  uint64_t positions;
  uint64_t kvHeads; ///< 0: as many as there are query heads
  std::optional<uint64_t> bos, eos;
  uint64_t headDim = 0; ///< 0: the width divided by the query heads
  double epsilon = 1e-6;
  bool rotatesParts = false;            ///< partial_rotary_factor may be below 1
  std::optional<uint64_t> trained = {}; ///< original_max_position_embeddings
  double theta = 10000;
  bool tied = false; ///< tie_word_embeddings
  std::string_view activationKey = "hidden_act", activation = "silu";
};

/// Heads and their size, once the widths are known.
void readHeads(const Json &root, JsonFields &fields, const FamilyDefaults &defaults,
               ModelConfig &config) {
  // A key that is null has no default of the family's.
  uint64_t kvHeads = root.find("num_key_value_heads") ? 0 : defaults.kvHeads;
  uint64_t headDim = root.find("head_dim") ? 0 : defaults.headDim;
  config.heads = fields.unsignedInteger("num_attention_heads", 1, ModelConfig::mostHeads);
  config.kvHeads = fields.unsignedIntegerOr("num_key_value_heads", kvHeads ? kvHeads : config.heads,
                                            1, config.heads);
  if (config.heads % config.kvHeads != 0)
    fields.fail("num_key_value_heads", "INGOT-E1051",
                message(config.kvHeads, " KV heads do not divide ", config.heads, " heads"),
                "correct num_key_value_heads");
  if (headDim != 0 || fields.has("head_dim")) {
    config.headDim = fields.unsignedIntegerOr("head_dim", headDim, 2, ModelConfig::widestHead);
  } else {
    config.headDim = config.hiddenSize / config.heads;
    if (config.hiddenSize % config.heads != 0)
      fields.fail("num_attention_heads", "INGOT-E1051",
                  message(config.heads, " heads do not divide hidden_size ", config.hiddenSize),
                  "correct the two, or give head_dim");
    if (config.headDim > ModelConfig::widestHead)
      fields.fail(
          "num_attention_heads", "INGOT-E1051",
          message("heads of ", config.headDim, " elements; at most ", ModelConfig::widestHead),
          "correct hidden_size or num_attention_heads");
  }
  if (config.headDim == 0 || config.headDim % 2 != 0)
    fields.fail("head_dim", "INGOT-E1051",
                message("a head of ", config.headDim, " elements cannot be rotated in pairs"),
                "the head size must be even");
}

/// A key that is absent has transformers' default, where the vocabulary has that token; one that is
/// null, or names none of its tokens, means "no such token".
void readOwnTokens(const Json &root, JsonFields &fields, const FamilyDefaults &defaults,
                   ModelConfig &config) {
  const uint64_t lastId = config.vocabSize - 1;
  auto given = [&](std::string_view key) {
    return fields.has(key)
               ? readTokenIds(root, key, "config.json", config.vocabSize, config.deviations)
               : std::nullopt;
  };
  if (auto ids = given("bos_token_id"))
    config.bosId = ids->front();
  else if (!root.find("bos_token_id") && defaults.bos && *defaults.bos <= lastId)
    config.bosId = *defaults.bos;
  if (auto ids = given("eos_token_id"))
    config.eosIds = *std::move(ids);
  else if (!root.find("eos_token_id") && defaults.eos && *defaults.eos <= lastId)
    config.eosIds = {*defaults.eos};
}

/// Newer files say of each layer what it attends to.
void readLayerTypes(const Json &root, JsonFields &fields, ModelConfig &config) {
  auto types = root.find("layer_types");
  if (!types || types->isNull())
    return;
  if (!types->isArray() || types->size() != config.layers)
    return fields.fail(
        "layer_types", "INGOT-E1057",
        message("this is no list of one type for each of ", config.layers, " layers"),
        "correct it, or leave it out");
  std::vector<bool> slides;
  for (size_t i = 0; i < types->size(); ++i) {
    auto type = types->element(i).string();
    slides.push_back(type && *type == "sliding_attention");
    if (!type || (!slides.back() && *type != "full_attention"))
      return fields.fail("layer_types", "INGOT-E1057",
                         message("what layer ", i, " attends to is not known"),
                         "known are \"full_attention\" and \"sliding_attention\"");
    if (slides.back() && config.slidingWindow == 0)
      return fields.fail("layer_types", "INGOT-E1057",
                         message("layer ", i, " slides, but no window is given or supported"),
                         "use a checkpoint with sliding_window, of a family that has it");
  }
  config.slidingLayers = std::move(slides);
}

/// Rotary settings against heads of `headDim` columns.
Outcome checkRotation(const Json &root, const FamilyDefaults &defaults, uint64_t headDim,
                      const Rope &rope) {
  if (rope.rotated != 1 && !defaults.rotatesParts)
    return root.error(
        "INGOT-E1057",
        message("partial_rotary_factor: rotating a part of each head is not supported for ",
                defaults.architecture),
        "use a checkpoint that rotates whole heads");
  const auto columns = static_cast<uint64_t>(static_cast<double>(headDim) * rope.rotated);
  if (columns < 2 || columns % 2 != 0)
    return root.error("INGOT-E1051",
                      message("partial_rotary_factor: ", columns, " columns of a head of ", headDim,
                              " cannot be rotated in pairs"),
                      "their number must be even");
  for (const auto *divisors : {&rope.shortDivisors, &rope.longDivisors})
    if (rope.type == RopeType::LongRope && divisors->size() != columns / 2)
      return root.error("INGOT-E1051",
                        message("short_factor and long_factor have ", divisors->size(),
                                " numbers, but ", columns / 2, " pairs rotate"),
                        "give one for each pair");
  return {};
}

/// What the families have in common; `readOwn` reads a family's own keys.
Expected<ModelConfig> readDecoder(const Json &root, const FamilyDefaults &defaults,
                                  void (*readOwn)(JsonFields &fields, ModelConfig &config)) {
  JsonFields fields(root);
  ModelConfig config(root);
  config.hiddenSize = fields.unsignedInteger("hidden_size", 1, ModelConfig::widest);
  config.intermediateSize = fields.unsignedInteger("intermediate_size", 1, ModelConfig::widest);
  config.layers = fields.unsignedInteger("num_hidden_layers", 1, ModelConfig::mostLayers);
  readHeads(root, fields, defaults, config);
  config.vocabSize = fields.unsignedInteger("vocab_size", 1, ModelConfig::largestVocabulary);
  config.maxPositions = fields.unsignedIntegerOr("max_position_embeddings", defaults.positions, 1,
                                                 Rope::mostPositions);
  config.rmsNormEpsilon = fields.numberOr("rms_norm_eps", defaults.epsilon, 1e-30, 1.0);
  config.tiedEmbeddings = fields.booleanOr("tie_word_embeddings", defaults.tied);
  config.declaredType = declaredType(fields);
  readOwn(fields, config);

  std::string activation =
      fields.stringOr(defaults.activationKey, std::string(defaults.activation));
  if (activation != defaults.activation)
    fields.fail(defaults.activationKey, "INGOT-E1053",
                message("activation ", inQuotes(activation), " is not supported"),
                message(defaults.architecture, " is supported with ", defaults.activation));
  readLayerTypes(root, fields, config);
  readOwnTokens(root, fields, defaults, config);
  if (fields.error())
    return *fields.error();
  auto unread = findUnreadKeys(root, fields.asked(), defaults.architecture);
  if (!unread)
    return unread.error();
  if (*unread)
    config.deviations.push_back(**std::move(unread));

  auto rope = Rope::read(root, config.maxPositions, defaults.trained, defaults.theta);
  if (!rope)
    return rope.error();
  config.rope = *rope;
  const double slidingTheta = config.slidingRope.value_or(config.rope).theta;
  if (auto sliding = Rope::readSliding(root, config.maxPositions, slidingTheta); !sliding)
    return sliding.error();
  else if (*sliding && !config.slidingRope && **sliding != config.rope)
    return root.error("INGOT-E1057",
                      message("rope_parameters: layers that slide rotate otherwise, which is not "
                              "supported for ",
                              defaults.architecture),
                      "use a checkpoint whose layers rotate alike");
  else if (*sliding && config.slidingRope)
    config.slidingRope = **sliding;
  for (const Rope &each : {config.rope, config.slidingRope.value_or(config.rope)})
    if (auto fits = checkRotation(root, defaults, config.headDim, each); !fits)
      return fits.error();
  return config;
}

/// LlamaForCausalLM, as transformers' LlamaConfig.
Expected<ModelConfig> readLlama(const Json &root) {
  static constexpr FamilyDefaults defaults = {"LlamaForCausalLM", 2048, 0, 1, 2};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
    config.mlpBias = fields.booleanOr("mlp_bias", false);
  });
}

/// `absent`: what a config.json without that key means; null is no window.
void readSlidingWindow(JsonFields &fields, ModelConfig &config, uint64_t absent) {
  config.slidingWindow = fields.unsignedIntegerOr(
      "sliding_window", config.raw.find("sliding_window") ? 0 : absent, 1, Rope::mostPositions);
}

/// Where use_sliding_window is false, the keys that describe the window mean nothing.
void readQwenWindow(JsonFields &fields, ModelConfig &config) {
  if (!fields.booleanOr("use_sliding_window", false))
    return;
  readSlidingWindow(fields, config, 4096);
  uint64_t full = fields.unsignedIntegerOr("max_window_layers", 28, 0, ModelConfig::mostLayers);
  for (uint64_t i = 0; i < config.layers; ++i)
    config.slidingLayers.push_back(i >= full);
}

/// Qwen2ForCausalLM (Qwen2, Qwen2.5), as transformers' Qwen2Config: biases are no option.
Expected<ModelConfig> readQwen2(const Json &root) {
  static constexpr FamilyDefaults defaults = {"Qwen2ForCausalLM", 32768, 32, {}, {}};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = true;
    readQwenWindow(fields, config);
  });
}

/// Qwen3ForCausalLM, as transformers' Qwen3Config.
Expected<ModelConfig> readQwen3(const Json &root) {
  static constexpr FamilyDefaults defaults = {"Qwen3ForCausalLM", 32768, 32, {}, {}, 128};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
    config.queryKeyNorm = QueryKeyNorm::Heads;
    readQwenWindow(fields, config);
  });
}

/// MistralForCausalLM, as transformers' MistralConfig.
Expected<ModelConfig> readMistral(const Json &root) {
  static constexpr FamilyDefaults defaults = {"MistralForCausalLM", 131072, 8, 1, 2};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    readSlidingWindow(fields, config, 4096);
  });
}

/// The numbers of experts, of all and of a token; `perToken` is that of an absent key. Programs
/// write either name of the first one: transformers has one for what others call the other.
void readExperts(JsonFields &fields, ModelConfig &config, std::string_view countKey,
                 uint64_t perToken) {
  Experts &experts = config.experts.emplace();
  const std::string_view other = countKey == "num_experts" ? "num_local_experts" : "num_experts";
  if (fields.has(other) && !fields.has(countKey))
    countKey = other;
  experts.count = fields.unsignedInteger(countKey, 1, Experts::most);
  if (fields.unsignedIntegerOr(other, experts.count, 1, Experts::most) != experts.count)
    fields.fail(other, "INGOT-E1051",
                message(countKey, " says that there are ", experts.count, " experts"),
                "remove one of the two keys");
  experts.perToken = fields.unsignedIntegerOr("num_experts_per_tok", perToken, 1, Experts::most);
  experts.innerSize = config.intermediateSize;
  if (experts.perToken > experts.count)
    fields.fail("num_experts_per_tok", "INGOT-E1051",
                message(experts.perToken, " experts for each token, but there are ", experts.count),
                message("correct it or ", countKey));
}

/// MixtralForCausalLM, as transformers' MixtralConfig.
Expected<ModelConfig> readMixtral(const Json &root) {
  static constexpr FamilyDefaults defaults = {.architecture = "MixtralForCausalLM",
                                              .positions = 131072,
                                              .kvHeads = 8,
                                              .bos = 1,
                                              .eos = 2,
                                              .epsilon = 1e-5,
                                              .theta = 1e6};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    readSlidingWindow(fields, config, 0);
    readExperts(fields, config, "num_local_experts", 2);
    Experts &experts = *config.experts;
    experts.module = "block_sparse_moe";
    experts.gate = "w1";
    experts.up = "w3";
    experts.down = "w2";
  });
}

/// What Qwen's mixtures have in common. Layers without experts are as in the family without.
void readQwenExperts(JsonFields &fields, ModelConfig &config, uint64_t perToken,
                     uint64_t innerSize) {
  readExperts(fields, config, "num_experts", perToken);
  Experts &experts = *config.experts;
  experts.innerSize =
      fields.unsignedIntegerOr("moe_intermediate_size", innerSize, 1, ModelConfig::widest);
  experts.normalized = fields.booleanOr("norm_topk_prob", false);
  uint64_t step = fields.unsignedIntegerOr("decoder_sparse_step", 1, 1, ModelConfig::mostLayers);
  for (uint64_t layer = 1; layer <= config.layers; ++layer)
    config.sparseLayers.push_back(layer % step == 0);
  if (auto dense = fields.unsignedIntegers("mlp_only_layers", 0, config.layers - 1))
    for (uint64_t layer : *dense)
      config.sparseLayers[layer] = false;
  readQwenWindow(fields, config);
}

/// Qwen2MoeForCausalLM (Qwen1.5-MoE, Qwen2-57B-A14B), as transformers' Qwen2MoeConfig.
Expected<ModelConfig> readQwen2Moe(const Json &root) {
  static constexpr FamilyDefaults defaults = {"Qwen2MoeForCausalLM", 32768, 16, {}, {}};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = fields.booleanOr("qkv_bias", true);
    readQwenExperts(fields, config, 4, 1408);
    config.experts->sharedSize =
        fields.unsignedIntegerOr("shared_expert_intermediate_size", 5632, 1, ModelConfig::widest);
  });
}

/// Qwen3MoeForCausalLM, as transformers' Qwen3MoeConfig.
Expected<ModelConfig> readQwen3Moe(const Json &root) {
  static constexpr FamilyDefaults defaults = {"Qwen3MoeForCausalLM", 32768, 4, {}, {}};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
    config.queryKeyNorm = QueryKeyNorm::Heads;
    readQwenExperts(fields, config, 8, 768);
  });
}

/// GptOssForCausalLM, as transformers' GptOssConfig.
Expected<ModelConfig> readGptOss(const Json &root) {
  static constexpr FamilyDefaults defaults = {.architecture = "GptOssForCausalLM",
                                              .positions = 131072,
                                              .kvHeads = 8,
                                              .bos = {},
                                              .eos = {},
                                              .headDim = 64,
                                              .epsilon = 1e-5,
                                              .theta = 150000};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    constexpr double least = 1e-3, most = 1e6;
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", true);
    config.attentionSinks = true;
    config.activation = Activation::ClampedSwiglu;
    config.activationLimit = fields.numberOr("swiglu_limit", 7, least, most);
    readSlidingWindow(fields, config, 128);
    config.slideButEvery(2);
    readExperts(fields, config, "num_local_experts", 4);
    // The slope is part of the activation here, not a number of the model's.
    if (fields.has("swiglu_alpha") && fields.number("swiglu_alpha", least, most) != 1.702)
      fields.fail("swiglu_alpha", "INGOT-E1053", "only 1.702 is supported",
                  "use a checkpoint with it");
    config.experts->biases = config.experts->stacked = true;
    config.experts->router = "router";
    // What transformers takes then are the numbers of one checkpoint.
    if (!fields.has("rope_scaling") && !fields.has("rope_parameters"))
      fields.fail("rope_scaling", "INGOT-E1052", "rope_scaling must be given for GptOssForCausalLM",
                  "write the type and its numbers");
  });
}

/// GraniteForCausalLM, as transformers' GraniteConfig.
Expected<ModelConfig> readGranite(const Json &root) {
  static constexpr FamilyDefaults defaults = {"GraniteForCausalLM", 2048, 0, 1, 2};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    constexpr double least = 1e-9, most = 1e9;
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
    config.mlpBias = fields.booleanOr("mlp_bias", false);
    config.embeddingMultiplier = fields.numberOr("embedding_multiplier", 1, least, most);
    config.residualMultiplier = fields.numberOr("residual_multiplier", 1, least, most);
    config.attentionMultiplier = fields.numberOr("attention_multiplier", 1, least, most);
    config.logitsDivisor = fields.numberOr("logits_scaling", 1, least, most);
  });
}

/// Olmo2ForCausalLM, as transformers' Olmo2Config.
Expected<ModelConfig> readOlmo2(const Json &root) {
  static constexpr FamilyDefaults defaults = {.architecture = "Olmo2ForCausalLM",
                                              .positions = 2048,
                                              .kvHeads = 0,
                                              .bos = {},
                                              .eos = 50279,
                                              .epsilon = 1e-5};
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
    config.queryKeyNorm = QueryKeyNorm::Rows;
    config.layerNorms = LayerNorms::Results;
  });
}

/// Phi3ForCausalLM (Phi-3, Phi-3.5, Phi-4), as transformers' Phi3Config: biases are no option.
Expected<ModelConfig> readPhi3(const Json &root) {
  static constexpr FamilyDefaults defaults = {.architecture = "Phi3ForCausalLM",
                                              .positions = 4096,
                                              .kvHeads = 0,
                                              .bos = 1,
                                              .eos = 32000,
                                              .epsilon = 1e-5,
                                              .rotatesParts = true,
                                              .trained = 4096};
  auto config = readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    config.fusedProjections = true;
    readSlidingWindow(fields, config, 0);
    for (std::string_view key : {"attention_bias", "mlp_bias"})
      if (fields.booleanOr(key, false))
        fields.fail(key, "INGOT-E1057", "biases are not supported for Phi3ForCausalLM",
                    "use a checkpoint without them");
  });
  // transformers takes others for longrope.
  if (config && config->rope.type != RopeType::Default && config->rope.type != RopeType::LongRope)
    return root.error("INGOT-E1052", "the rope type is not supported for Phi3ForCausalLM",
                      "supported are default and longrope");
  return config;
}

/// sqrt(hidden size) in the type that the model computes with.
double gemmaEmbeddingMultiplier(const ModelConfig &config) {
  double root = std::sqrt(static_cast<double>(config.hiddenSize));
  if (config.declaredType == DType::BF16) {
    auto bits = std::bit_cast<uint32_t>(static_cast<float>(root));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return static_cast<double>(std::bit_cast<float>(bits));
  }
  if (config.declaredType == DType::F16)
    return static_cast<double>(static_cast<_Float16>(root));
  return root;
}

/// What Gemma 2 and 3 have in common.
void readGemma(JsonFields &fields, ModelConfig &config, uint64_t slidingPattern) {
  constexpr double least = 1e-9, most = 1e9;
  config.attentionBias = config.outputBias = fields.booleanOr("attention_bias", false);
  config.layerNorms = LayerNorms::Both;
  config.normsLessOne = true;
  config.activation = Activation::GeluTanh;
  config.embeddingMultiplier = gemmaEmbeddingMultiplier(config);
  config.attentionMultiplier =
      1 / std::sqrt(fields.numberOr("query_pre_attn_scalar", 256, 1, most));
  if (fields.has("final_logit_softcapping"))
    config.logitsSoftcap = fields.number("final_logit_softcapping", least, most);
  readSlidingWindow(fields, config, 4096);
  config.slideButEvery(slidingPattern);
}

constexpr FamilyDefaults gemmaDefaults(std::string_view architecture, uint64_t positions,
                                       double theta) {
  return {.architecture = architecture,
          .positions = positions,
          .kvHeads = 4,
          .bos = 2,
          .eos = 1,
          .headDim = 256,
          .theta = theta,
          .tied = true,
          .activationKey = "hidden_activation",
          .activation = "gelu_pytorch_tanh"};
}

/// Gemma2ForCausalLM, as transformers' Gemma2Config.
Expected<ModelConfig> readGemma2(const Json &root) {
  static constexpr FamilyDefaults defaults = gemmaDefaults("Gemma2ForCausalLM", 8192, 1e4);
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    if (!config.raw.find("attn_logit_softcapping"))
      config.attentionSoftcap = 50;
    if (!config.raw.find("final_logit_softcapping"))
      config.logitsSoftcap = 30;
    readGemma(fields, config, 2);
    if (fields.has("attn_logit_softcapping"))
      config.attentionSoftcap = fields.number("attn_logit_softcapping", 1e-9, 1e9);
  });
}

/// Gemma3ForCausalLM (text), as transformers' Gemma3TextConfig.
Expected<ModelConfig> readGemma3(const Json &root) {
  static constexpr FamilyDefaults defaults = gemmaDefaults("Gemma3ForCausalLM", 131072, 1e6);
  return readDecoder(root, defaults, [](JsonFields &fields, ModelConfig &config) {
    readGemma(fields, config, fields.unsignedIntegerOr("sliding_window_pattern", 6, 1, 1u << 14));
    // transformers has the key, and computes without it.
    if (fields.has("attn_logit_softcapping"))
      config.deviations.push_back({"attn_logit_softcapping", "a cap of scores", "not read",
                                   "transformers reads none for Gemma3ForCausalLM",
                                   /*isTold=*/true});
    config.queryKeyNorm = QueryKeyNorm::Heads;
    config.slidingRope.emplace().theta = fields.numberOr("rope_local_base_freq", 10000, 1, 1e15);
    if (fields.booleanOr("use_bidirectional_attention", false))
      fields.fail("use_bidirectional_attention", "INGOT-E1057",
                  "attention to later positions is not supported", "use a causal model");
  });
}

struct Family {
  std::string_view architecture;
  Expected<ModelConfig> (*read)(const Json &root);
};

constexpr Family families[] = {
    {"Gemma2ForCausalLM", readGemma2},     {"Gemma3ForCausalLM", readGemma3},
    {"GptOssForCausalLM", readGptOss},     {"GraniteForCausalLM", readGranite},
    {"LlamaForCausalLM", readLlama},       {"MistralForCausalLM", readMistral},
    {"MixtralForCausalLM", readMixtral},   {"Olmo2ForCausalLM", readOlmo2},
    {"Phi3ForCausalLM", readPhi3},         {"Qwen2ForCausalLM", readQwen2},
    {"Qwen2MoeForCausalLM", readQwen2Moe}, {"Qwen3ForCausalLM", readQwen3},
    {"Qwen3MoeForCausalLM", readQwen3Moe},
};

/// The name under `architectures`, which must be a list of one.
Expected<std::string> readArchitecture(const Json &root) {
  auto list = root.at("architectures");
  if (!list)
    return list.error();
  if (!list->isArray() || list->size() != 1)
    return list->wrongType("a list of one architecture");
  return list->element(0).string();
}

} // namespace

Expected<ModelConfig> ModelConfig::parse(std::string_view text, const std::string &fileName) {
  JsonLimits limits;
  limits.maxBytes = longestConfig;
  limits.takesNotFinite = true;
  limits.maxValues = uint64_t{1} << 20;
  auto root = Json::parse(text, fileName, limits);
  if (!root)
    return root.error();
  auto architecture = readArchitecture(*root);
  if (!architecture)
    return architecture.error();
  std::string supported;
  std::vector<std::string> names;
  for (const Family &family : families) {
    supported += message(supported.empty() ? "" : ", ", family.architecture);
    names.emplace_back(family.architecture);
    if (family.architecture != *architecture)
      continue;
    auto config = family.read(*root);
    if (config)
      config->architecture = *architecture;
    return config;
  }
  const std::string nearest = nearestByBeginning(*architecture, names);
  return root->error("INGOT-E1050",
                     message("architecture ", inQuotes(*architecture), " is not supported",
                             nearest.empty() ? "" : "; the nearest one that is: ", nearest),
                     "supported: " + supported);
}

Expected<ModelConfig> ModelConfig::read(const std::filesystem::path &path) {
  auto text = readText(path, longestConfig);
  if (!text)
    return text.error();
  return parse(*text, path.string());
}

} // namespace ingot::checkpoint
