// SPDX-License-Identifier: Apache-2.0
// config.json and generation_config.json: real ones, and every refusal.
#include "compiler/checkpoint/config/ConfigReader.h"
#include "compiler/checkpoint/config/GenerationConfig.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/SmallConfig.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace ingot::checkpoint;
using namespace ingot::test;

TEST(ModelConfig, FillsInWhatTransformersWould) {
  auto config = configWith("{}");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->architecture, "LlamaForCausalLM");
  EXPECT_EQ(attentionOf(*config).headDim, 16u);
  EXPECT_EQ(config->normEpsilon, 1e-6);
  EXPECT_EQ(config->ropes[0], Rope{});
  EXPECT_FALSE(config->tiedEmbeddings || attentionOf(*config).bias || mlpOf(*config).bias);
  EXPECT_EQ(config->bosId, 1u);
  EXPECT_EQ(config->eosIds, std::vector<uint64_t>{2});
  EXPECT_FALSE(config->declaredType);
  EXPECT_EQ(attentionOf(*configWith(R"({"num_key_value_heads": null})")).kvHeads, 4u);
}

TEST(ModelConfig, ReadsEveryKey) {
  auto config = configWith(R"({"head_dim": 32, "rms_norm_eps": 1e-5, "tie_word_embeddings": true,
    "attention_bias": true, "mlp_bias": true, "hidden_act": "silu", "eos_token_id": [3, 4],
    "bos_token_id": 5, "torch_dtype": "bfloat16", "rope_theta": 500000})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(attentionOf(*config).headDim, 32u);
  EXPECT_EQ(config->normEpsilon, 1e-5);
  EXPECT_TRUE(config->tiedEmbeddings && mlpOf(*config).bias);
  EXPECT_TRUE(attentionOf(*config).bias && attentionOf(*config).outputBias);
  EXPECT_EQ(config->eosIds, (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(config->bosId, 5u);
  EXPECT_EQ(config->declaredType, DType::BF16);
  EXPECT_EQ(config->ropes[0].theta, 500000.0);
  EXPECT_EQ(configWith(R"({"dtype": "torch.float16"})")->declaredType, DType::F16);
}

TEST(ModelConfig, Qwen2HasBiasesAndDefaultsOfItsOwn) {
  const std::string qwen = R"("architectures": ["Qwen2ForCausalLM"])";
  auto config = configWith("{" + qwen + R"(, "max_position_embeddings": null,
    "use_sliding_window": false, "sliding_window": 4096})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_TRUE(attentionOf(*config).bias);
  EXPECT_FALSE(attentionOf(*config).outputBias || mlpOf(*config).bias);
  EXPECT_EQ(config->maxPositions, 32768u);
  EXPECT_FALSE(config->bosId);
  EXPECT_TRUE(config->eosIds.empty());
  // 32 KV heads where nothing is said, which do not fit 4 query heads.
  EXPECT_TRUE(failsWith(configWith("{" + qwen + R"(, "num_key_value_heads": null})"), "INGOT-E1051",
                        {"32 KV heads"}));
  EXPECT_EQ(attentionOf(*config).slidingWindow, 0u);
  auto window = configWith("{" + qwen + R"(, "use_sliding_window": true, "max_window_layers": 1})");
  ASSERT_TRUE(succeeds(window));
  EXPECT_EQ(attentionOf(*window, 1).slidingWindow, 4096u);
  EXPECT_FALSE(slides(*window, 0));
}

TEST(ModelConfig, Qwen3NormsHeads) {
  const std::string qwen = R"("architectures": ["Qwen3ForCausalLM"])";
  auto config = configWith("{" + qwen + R"(, "max_position_embeddings": null,
    "use_sliding_window": false, "sliding_window": null, "max_window_layers": 28,
    "layer_types": ["full_attention", "full_attention"]})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(attentionOf(*config).queryKeyNorm, QueryKeyNorm::Heads);
  EXPECT_EQ(attentionOf(*config).headDim, 128u);
  EXPECT_EQ(attentionOf(*configWith("{" + qwen + R"(, "head_dim": 32})")).headDim, 32u);
  EXPECT_FALSE(attentionOf(*config).bias || attentionOf(*config).outputBias || mlpOf(*config).bias);
  EXPECT_TRUE(attentionOf(*configWith("{" + qwen + R"(, "attention_bias": true})")).outputBias);
  EXPECT_EQ(config->maxPositions, 32768u);
  auto window = configWith("{" + qwen + R"(, "use_sliding_window": true, "sliding_window": 64,
    "layer_types": ["sliding_attention", "full_attention"]})");
  ASSERT_TRUE(succeeds(window));
  EXPECT_EQ(attentionOf(*window).slidingWindow, 64u);
  EXPECT_TRUE(slides(*window, 0));
  EXPECT_FALSE(slides(*window, 1));
  for (std::string types : {R"(["full_attention", "sliding_attention"])", R"([1, 2])", R"("full")",
                            R"(["full_attention"])", R"(["full_attention", "linear_attention"])"})
    EXPECT_TRUE(failsWith(configWith("{" + qwen + R"(, "layer_types": )" + types + "}"),
                          "INGOT-E1057", {"layer_types"}));
}

TEST(ModelConfig, MistralHasAWindowUnlessItSaysNone) {
  auto config = [](std::string_view window) {
    return parseModelConfig(R"({"architectures": ["MistralForCausalLM"], "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
      "vocab_size": 100)" + std::string(window) +
                                "}",
                            "config.json");
  };
  auto silent = config("");
  ASSERT_TRUE(succeeds(silent));
  EXPECT_EQ(attentionOf(*silent).slidingWindow, 4096u);
  EXPECT_EQ(attentionOf(*silent).kvHeads, 8u);
  EXPECT_EQ(silent->maxPositions, 131072u);
  EXPECT_EQ(silent->bosId, 1u);
  EXPECT_EQ(attentionOf(*config(R"(, "sliding_window": null)")).slidingWindow, 0u);
  EXPECT_EQ(attentionOf(*config(R"(, "sliding_window": 512)")).slidingWindow, 512u);
  EXPECT_TRUE(failsWith(config(R"(, "sliding_window": 0)"), "INGOT-E1006", {"sliding_window"}));
}

ingot::checkpoint::Expected<ModelConfig> gemmaWith(int family, std::string_view more) {
  return parseModelConfig(R"({"architectures": ["Gemma)" + std::to_string(family) +
                              R"(ForCausalLM"], "hidden_size": 60, "intermediate_size": 96,
      "num_hidden_layers": 7, "num_attention_heads": 8, "vocab_size": 100, "head_dim": 32)" +
                              std::string(more) + "}",
                          "config.json");
}

TEST(ModelConfig, Gemma2SlidesEveryOtherLayer) {
  auto config = gemmaWith(2, R"(, "torch_dtype": "bfloat16")");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(attentionOf(*config).slidingWindow, 4096u);
  for (uint64_t layer = 0; layer < 7; ++layer)
    EXPECT_EQ(slides(*config, layer), layer % 2 == 0);
  EXPECT_EQ(config->layers[0].norms, NormPlacement::Sandwich);
  EXPECT_TRUE(config->normsLessOne && config->tiedEmbeddings);
  EXPECT_EQ(mlpOf(*config).activation, Activation::GeluTanh);
  EXPECT_EQ(attentionOf(*config).softcap, 50);
  EXPECT_EQ(config->logitsSoftcap, 30);
  EXPECT_EQ(attentionOf(*config).scaling, 1.0 / 16);
  EXPECT_EQ(config->embeddingMultiplier, 7.75); // sqrt(60) in bf16
  EXPECT_EQ(gemmaWith(2, "")->embeddingMultiplier, std::sqrt(60.0));
  auto bare = gemmaWith(2, R"(, "attn_logit_softcapping": null, "final_logit_softcapping": null,
                              "sliding_window": null)");
  ASSERT_TRUE(succeeds(bare));
  EXPECT_EQ(attentionOf(*bare).softcap + bare->logitsSoftcap, 0);
  EXPECT_FALSE(slides(*bare, 0));
  EXPECT_TRUE(failsWith(gemmaWith(2, R"(, "hidden_activation": "gelu")"), "INGOT-E1053",
                        {"hidden_activation", "gelu_pytorch_tanh"}));
}

TEST(ModelConfig, Gemma3RotatesSlidingLayersOtherwise) {
  auto config = gemmaWith(3, R"(, "rope_scaling": {"rope_type": "linear", "factor": 8.0})");
  ASSERT_TRUE(succeeds(config));
  for (uint64_t layer = 0; layer < 7; ++layer)
    EXPECT_EQ(slides(*config, layer), layer != 5);
  EXPECT_EQ(config->ropes[0].theta, 1e6);
  EXPECT_EQ(config->ropes[0].factor, 8);
  EXPECT_EQ(config->ropes[1].theta, 1e4);
  EXPECT_EQ(config->ropes[1].factor, 1);
  EXPECT_EQ(attentionOf(*config).queryKeyNorm, QueryKeyNorm::Heads);
  EXPECT_EQ(attentionOf(*config).softcap + config->logitsSoftcap, 0);
  auto newer = gemmaWith(3, R"(, "rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 2e3}})");
  ASSERT_TRUE(succeeds(newer));
  EXPECT_EQ(newer->ropes[0].theta, 5e5);
  EXPECT_EQ(newer->ropes[1].theta, 2e3);
  auto one = gemmaWith(3, R"(, "rope_local_base_freq": 3e3, "rope_parameters": {
      "full_attention": null, "sliding_attention": {"rope_type": "linear", "factor": 2}})");
  ASSERT_TRUE(succeeds(one));
  EXPECT_EQ(one->ropes[0], Rope{.theta = 1e6});
  EXPECT_EQ(one->ropes[1], (Rope{.type = RopeType::Linear, .theta = 3e3, .factor = 2}));
  auto capped = gemmaWith(3, R"(, "attn_logit_softcapping": 50.0)");
  ASSERT_TRUE(succeeds(capped));
  EXPECT_EQ(attentionOf(*capped).softcap, 0);
  ASSERT_EQ(capped->deviations.size(), 1u);
  EXPECT_EQ(capped->deviations[0].what, "attn_logit_softcapping");
  // The rotation of sliding layers is held to the same rules.
  auto sliding = [](const std::string &keys) {
    return gemmaWith(3, R"(, "rope_parameters": {"full_attention": {"rope_type": "default"},
        "sliding_attention": {)" +
                            keys + "}}");
  };
  EXPECT_TRUE(succeeds(sliding(R"("rope_type": "linear", "factor": 2)")));
  EXPECT_TRUE(failsWith(sliding(R"("rope_type": "default", "partial_rotary_factor": 0.5)"),
                        "INGOT-E1057", {"partial_rotary_factor"}));
  EXPECT_TRUE(failsWith(sliding(R"("rope_type": "longrope", "short_factor": [1.0],
      "long_factor": [1.0])"),
                        "INGOT-E1051", {"16 pairs rotate"}));
  EXPECT_TRUE(failsWith(sliding(R"("rope_type": "yarn", "factor": 2, "rope_theta": 1)"),
                        "INGOT-E1051", {"yarn"}));
  // Families whose layers rotate alike.
  EXPECT_TRUE(failsWith(gemmaWith(2, R"(, "rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 2e3}})"),
                        "INGOT-E1057", {"rope_parameters"}));
  EXPECT_TRUE(failsWith(gemmaWith(3, R"(, "use_bidirectional_attention": true)"), "INGOT-E1057",
                        {"use_bidirectional_attention"}));
}

TEST(ModelConfig, CountsExpertsByEitherName) {
  auto with = [](std::string_view architecture, std::string_view keys) {
    return configWith(message(R"({"architectures": [")", architecture,
                              R"("], "rope_scaling": {"rope_type": "default"}, "head_dim": 32)",
                              keys, "}"));
  };
  for (const char *architecture :
       {"MixtralForCausalLM", "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "GptOssForCausalLM"}) {
    for (const char *keys : {R"(, "num_local_experts": 24)", R"(, "num_experts": 24)",
                             R"(, "num_experts": 24, "num_local_experts": 24)"}) {
      auto config = with(architecture, keys);
      ASSERT_TRUE(succeeds(config)) << architecture << keys;
      EXPECT_EQ(config->firstExperts()->count, 24u);
    }
    EXPECT_TRUE(failsWith(with(architecture, R"(, "num_experts": 8, "num_local_experts": 9)"),
                          "INGOT-E1051", {"num_", "experts"}));
    EXPECT_TRUE(failsWith(with(architecture, ""), "INGOT-E1005", {"experts"}));
    const std::string scored = R"(, "num_experts": 24, "scoring_func": )";
    EXPECT_TRUE(succeeds(with(architecture, scored + R"("softmax")")));
    EXPECT_TRUE(
        failsWith(with(architecture, scored + R"("sigmoid")"), "INGOT-E1057", {"scoring_func"}));
  }
}

TEST(ModelConfig, NamesKeysThatItDoesNotRead) {
  auto config = configWith(R"({"initializer_range": 0.02, "torch_dtype": "float32",
    "num_experts": null, "logit_scale": 1.0, "moons": 2, "stars": [1]})");
  ASSERT_TRUE(succeeds(config));
  ASSERT_EQ(config->deviations.size(), 1u);
  EXPECT_EQ(config->deviations[0].stated, "moons, stars");
  EXPECT_EQ(config->deviations[0].effective, "not read");
  EXPECT_TRUE(config->deviations[0].isTold);
  EXPECT_TRUE(configWith(R"({"use_cache": true})")->deviations.empty());
  for (const char *keys :
       {R"("dual_chunk_attention_config": {"chunk_size": 262144})", R"("num_experts": 8)",
        R"("attn_logit_softcapping": 50.0)", R"("logit_scale": 0.5)", R"("alibi": true)",
        R"("kv_lora_rank": 512)", R"("no_rope_layers": [1, 0])"}) {
    const std::string_view key =
        std::string_view(keys).substr(1, std::string_view(keys).find(':') - 2);
    EXPECT_TRUE(failsWith(configWith(message("{", keys, "}")), "INGOT-E1057", {key})) << keys;
  }
}

TEST(ModelConfig, MixtralHasExperts) {
  const std::string mixtral = R"({"architectures": ["MixtralForCausalLM"], "num_local_experts": 8)";
  auto config = configWith(mixtral + "}");
  ASSERT_TRUE(succeeds(config));
  ASSERT_TRUE(config->firstExperts());
  EXPECT_EQ(config->firstExperts()->count, 8u);
  EXPECT_EQ(config->firstExperts()->perToken, 2u);
  EXPECT_EQ(config->firstExperts()->innerSize, 96u);
  EXPECT_EQ(config->firstExperts()->module, "block_sparse_moe");
  EXPECT_TRUE(config->firstExperts()->routing.normTopkProb && isSparse(*config, 0) &&
              isSparse(*config, 1));
  EXPECT_EQ(config->ropes[0].theta, 1e6);
  EXPECT_FALSE(isSparse(*configWith("{}"), 0));
  EXPECT_TRUE(failsWith(configWith(mixtral + R"(, "num_experts_per_tok": 9})"), "INGOT-E1051",
                        {"num_experts_per_tok", "9 experts", "are 8"}));
  EXPECT_TRUE(failsWith(
      configWith(R"({"architectures": ["MixtralForCausalLM"], "num_local_experts": 2049})"),
      "INGOT-E1006", {"num_local_experts"}));
  EXPECT_TRUE(
      failsWith(configWith(R"({"architectures": ["MixtralForCausalLM"], "num_local_experts": 0})"),
                "INGOT-E1006", {"num_local_experts"}));
}

TEST(ModelConfig, QwenMixturesHaveLayersWithoutExperts) {
  auto config = configWith(R"({"architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 6,
    "num_experts": 128, "decoder_sparse_step": 2, "mlp_only_layers": [3],
    "moe_intermediate_size": 32})");
  ASSERT_TRUE(succeeds(config));
  for (uint64_t layer = 0; layer < 6; ++layer)
    EXPECT_EQ(isSparse(*config, layer), layer == 1 || layer == 5) << layer;
  EXPECT_EQ(config->firstExperts()->count, 128u);
  EXPECT_EQ(config->firstExperts()->perToken, 8u);
  EXPECT_EQ(config->firstExperts()->innerSize, 32u);
  EXPECT_EQ(mlpOf(*config).innerSize, 96u);
  EXPECT_FALSE(config->firstExperts()->routing.normTopkProb);
  EXPECT_EQ(attentionOf(*config).queryKeyNorm, QueryKeyNorm::Heads);
  auto shared = configWith(R"({"architectures": ["Qwen2MoeForCausalLM"], "norm_topk_prob": true,
    "num_experts": 60,
    "shared_expert_intermediate_size": 48})");
  ASSERT_TRUE(succeeds(shared));
  EXPECT_EQ(shared->firstExperts()->sharedSize, 48u);
  EXPECT_EQ(shared->firstExperts()->innerSize, 1408u);
  EXPECT_TRUE(shared->firstExperts()->routing.normTopkProb && attentionOf(*shared).bias);
  EXPECT_TRUE(failsWith(configWith(R"({"architectures": ["Qwen2MoeForCausalLM"], "num_experts": 8,
                                       "mlp_only_layers": [2]})"),
                        "INGOT-E1006", {"mlp_only_layers"}));
}

TEST(ModelConfig, GptOssHasSinksAndStackedExperts) {
  const std::string gptOss = R"({"architectures": ["GptOssForCausalLM"], "head_dim": 16,
    "num_local_experts": 32)";
  auto config = configWith(gptOss + R"(, "rope_scaling": {"rope_type": "yarn", "factor": 32.0,
    "original_max_position_embeddings": 16, "truncate": false}, "swiglu_limit": 5.0})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_TRUE(attentionOf(*config).sinks && attentionOf(*config).bias &&
              attentionOf(*config).outputBias);
  EXPECT_TRUE(config->firstExperts()->storage == ExpertStorage::Turns &&
              config->firstExperts()->routing.normTopkProb);
  EXPECT_EQ(mlpOf(*config).activation, Activation::ClampedSwiglu);
  EXPECT_EQ(mlpOf(*config).activationLimit, 5);
  EXPECT_EQ(attentionOf(*config).slidingWindow, 128u);
  EXPECT_TRUE(slides(*config, 0) && !slides(*config, 1));
  EXPECT_FALSE(config->ropes[0].wholePairs);
  EXPECT_TRUE(failsWith(configWith(gptOss + "}"), "INGOT-E1052", {"rope_scaling"}));
  EXPECT_TRUE(
      failsWith(configWith(gptOss + R"(, "swiglu_alpha": 1.5})"), "INGOT-E1053", {"swiglu_alpha"}));
}

TEST(ModelConfig, GraniteHasMultipliers) {
  const std::string granite = R"("architectures": ["GraniteForCausalLM"])";
  auto config = configWith("{" + granite + R"(, "embedding_multiplier": 12, "mlp_bias": true,
    "residual_multiplier": 0.22, "attention_multiplier": 0.015625, "logits_scaling": 8.0})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->embeddingMultiplier, 12.0);
  EXPECT_EQ(config->residualMultiplier, 0.22);
  EXPECT_EQ(attentionOf(*config).scaling, 0.015625);
  EXPECT_EQ(config->logitsDivisor, 8.0);
  EXPECT_TRUE(mlpOf(*config).bias);
  auto silent = configWith("{" + granite + "}");
  ASSERT_TRUE(succeeds(silent));
  EXPECT_EQ(attentionOf(*silent).scaling, 1.0);
  EXPECT_EQ(silent->embeddingMultiplier * silent->residualMultiplier * silent->logitsDivisor, 1.0);
  EXPECT_TRUE(failsWith(configWith("{" + granite + R"(, "logits_scaling": 0})"), "INGOT-E1006",
                        {"logits_scaling"}));
  EXPECT_EQ(attentionOf(*configWith("{}")).scaling, 0.0);
}

TEST(ModelConfig, Olmo2NormsResults) {
  const std::string olmo = R"({"architectures": ["Olmo2ForCausalLM"])";
  auto config = configWith(olmo + R"(, "max_position_embeddings": null, "vocab_size": 50304})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->layers[0].norms, NormPlacement::Post);
  EXPECT_EQ(attentionOf(*config).queryKeyNorm, QueryKeyNorm::Rows);
  EXPECT_EQ(config->normEpsilon, 1e-5);
  EXPECT_EQ(config->maxPositions, 2048u);
  EXPECT_FALSE(config->bosId || attentionOf(*config).bias);
  EXPECT_EQ(config->eosIds, std::vector<uint64_t>{50279});
  EXPECT_TRUE(attentionOf(*configWith(olmo + R"(, "attention_bias": true})")).outputBias);
}

TEST(ModelConfig, Llama4DiffersFromLayerToLayer) {
  auto config = configWith(R"({"architectures": ["Llama4ForCausalLM"], "num_hidden_layers": 4,
    "head_dim": 16, "attention_chunk_size": 16, "num_local_experts": 4, "floor_scale": 8,
    "intermediate_size_mlp": 80, "interleave_moe_layer_step": 2})");
  ASSERT_TRUE(succeeds(config));
  for (uint64_t layer = 0; layer < 4; ++layer) {
    const Attention &attention = attentionOf(*config, layer);
    const bool rotates = layer != 3;
    EXPECT_EQ(attention.rope.has_value(), rotates);
    EXPECT_EQ(attention.slidingWindow, rotates ? 16u : 0u);
    EXPECT_EQ(attention.queryKeyNorm, rotates ? QueryKeyNorm::Plain : QueryKeyNorm::None);
    EXPECT_EQ(attention.temperature.scale, rotates ? 0 : 0.1);
    EXPECT_EQ(isSparse(*config, layer), layer % 2 == 1);
  }
  EXPECT_EQ(attentionOf(*config, 3).temperature.floorScale, 8u);
  EXPECT_EQ(config->layers[0].mlp()->innerSize, 80u);
  EXPECT_EQ(config->layers[1].experts()->innerSize, 96u);
}

TEST(ModelConfig, MiMoHasOtherHeadsInWindows) {
  auto config = configWith(R"({"architectures": ["MiMoV2FlashForCausalLM"], "head_dim": 24,
    "v_head_dim": 16, "num_key_value_heads": 1, "sliding_window": 24, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "layer_types": ["full_attention", "sliding_attention"]})");
  ASSERT_TRUE(succeeds(config));
  const Attention &full = attentionOf(*config, 0), &sliding = attentionOf(*config, 1);
  EXPECT_EQ(full.kvHeads, 1u);
  EXPECT_EQ(sliding.kvHeads, 2u);
  EXPECT_TRUE(!full.sinks && sliding.sinks);
  EXPECT_TRUE(full.rope == 0u && sliding.rope == 1u);
  EXPECT_EQ(config->ropes[1].theta, 10000);
  EXPECT_EQ(full.valueDim + sliding.valueDim, 32u);
}

TEST(ModelConfig, LayersWithoutAWindowAreNopeInFamiliesThatSaySo) {
  const std::string exaone = R"({"architectures": ["Exaone4ForCausalLM"], "head_dim": 16,
    "num_hidden_layers": 4, "num_key_value_heads": 4, "sliding_window": )";
  auto config = configWith(exaone + "24}");
  ASSERT_TRUE(succeeds(config));
  for (uint64_t layer = 0; layer < 4; ++layer)
    EXPECT_EQ(attentionOf(*config, layer).rope.has_value(), layer != 3) << layer;
  auto smol = configWith(R"({"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [0, 1]})");
  ASSERT_TRUE(succeeds(smol));
  EXPECT_FALSE(attentionOf(*smol, 0).rope);
  EXPECT_TRUE(attentionOf(*smol, 1).rope);
}

TEST(ModelConfig, NullMeansNoSuchToken) {
  auto config = parseModelConfig(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
    "bos_token_id": null, "eos_token_id": null, "quantization_config": null})",
                                 "config.json");
  ASSERT_TRUE(succeeds(config));
  EXPECT_FALSE(config->bosId);
  EXPECT_TRUE(config->eosIds.empty());
}

TEST(ModelConfig, DefaultTokensMustBeInTheVocabulary) {
  auto config = configWith(R"({"vocab_size": 2})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->bosId, 1u);
  EXPECT_TRUE(config->eosIds.empty());
}

TEST(ModelConfig, ReadsEveryRopeType) {
  auto rope = [](std::string_view changes) {
    auto config = configWith(changes);
    EXPECT_TRUE(succeeds(config)) << changes;
    return config->ropes[0];
  };
  Rope linear{.type = RopeType::Linear, .factor = 4};
  EXPECT_EQ(rope(R"({"rope_scaling": {"type": "linear", "factor": 4}})"), linear);
  EXPECT_EQ(rope(R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0}})"), linear);
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_type": "linear", "factor": 4}})"), linear);
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_type": "linear", "factor": 4},
                     "rope_scaling": {"type": "linear", "factor": 4}})"),
            linear);
  Rope dynamic{.type = RopeType::Dynamic, .factor = 2, .originalPositions = 512};
  EXPECT_EQ(rope(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})"), dynamic);
  Rope llama3{.type = RopeType::Llama3,
              .theta = 500000,
              .factor = 32,
              .lowFrequencyFactor = 1,
              .highFrequencyFactor = 4,
              .originalPositions = 8192};
  EXPECT_EQ(rope(R"({"rope_theta": 500000, "rope_scaling": {"factor": 32, "low_freq_factor": 1,
      "high_freq_factor": 4, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})"),
            llama3);
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_theta": 500000, "factor": 32, "low_freq_factor": 1,
      "high_freq_factor": 4, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})"),
            llama3);
  EXPECT_EQ(rope(R"({"rope_scaling": {}})"), Rope{});
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}})").theta, 1e6);
  EXPECT_EQ(rope(R"({"rope_scaling": {"type": "default", "factor": 1.0}})"), Rope{});
  // Both keys, with names of one type: Qwen2.5-VL as transformers 5 saves it.
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_type": "default", "type": "mrope",
                     "rope_theta": 1e4, "mrope_section": [2, 3, 3]}})"),
            Rope{});
  EXPECT_EQ(rope(R"({"rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 4}})"),
            linear);
}

/// Phi3ForCausalLM with heads of 16 columns; `changes` as for configWith().
static Expected<ModelConfig> phiWith(std::string_view changes) {
  auto json = nlohmann::json::parse(changes);
  json["architectures"] = {"Phi3ForCausalLM"};
  return configWith(json.dump());
}

TEST(ModelConfig, Phi3FusesProjectionsAndRotatesParts) {
  auto config = phiWith(R"({"max_position_embeddings": null, "vocab_size": 32064,
    "sliding_window": 2047, "partial_rotary_factor": 0.75,
    "original_max_position_embeddings": 4096, "attention_bias": false})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_TRUE(attentionOf(*config).fusedQkv && mlpOf(*config).fusedGateUp);
  EXPECT_EQ(attentionOf(*config).slidingWindow, 2047u);
  EXPECT_EQ(rotaryPairs(*config), 6u);
  EXPECT_EQ(config->normEpsilon, 1e-5);
  EXPECT_EQ(config->maxPositions, 4096u);
  EXPECT_EQ(config->eosIds, std::vector<uint64_t>{32000});
  EXPECT_EQ(attentionOf(*phiWith("{}")).slidingWindow, 0u);
  EXPECT_EQ(rotaryPairs(*phiWith("{}")), 8u);
  EXPECT_EQ(rotaryPairs(*phiWith(
                R"({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}})")),
            4u);
  auto refused = [](std::string_view changes, std::string_view code, std::string_view mention) {
    return failsWith(phiWith(changes), code, {mention, "config.json"});
  };
  EXPECT_TRUE(refused(R"({"attention_bias": true})", "INGOT-E1057", "attention_bias"));
  EXPECT_TRUE(refused(R"({"partial_rotary_factor": 0.32})", "INGOT-E1051", "5 columns"));
  EXPECT_TRUE(refused(R"({"partial_rotary_factor": 0.01})", "INGOT-E1051", "0 columns"));
  EXPECT_TRUE(refused(R"({"partial_rotary_factor": 1.5})", "INGOT-E1006", "partial"));
  EXPECT_TRUE(refused(R"({"partial_rotary_factor": 0.5,
                          "rope_parameters": {"partial_rotary_factor": 1}})",
                      "INGOT-E1056", "given twice"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear", "factor": 2}})", "INGOT-E1052",
                      "Phi3ForCausalLM"));
}

TEST(ModelConfig, ReadsLongRope) {
  const std::string lists = R"("short_factor": [1, 1, 1.5, 2], "long_factor": [2, 3, 4.5, 8])";
  auto config = phiWith(R"({"max_position_embeddings": 131072, "partial_rotary_factor": 0.5,
    "original_max_position_embeddings": 4096, "rope_theta": 250000,
    "rope_scaling": {"type": "longrope", )" +
                        lists + "}}");
  ASSERT_TRUE(succeeds(config));
  const Rope &rope = config->ropes[0];
  EXPECT_EQ(rope.type, RopeType::LongRope);
  EXPECT_EQ(rope.theta, 250000.0);
  EXPECT_EQ(rope.shortDivisors, (std::vector<double>{1, 1, 1.5, 2}));
  EXPECT_EQ(rope.longDivisors, (std::vector<double>{2, 3, 4.5, 8}));
  EXPECT_EQ(rope.originalPositions, 4096u);
  EXPECT_TRUE(rope.usesLongDivisors(4097));
  EXPECT_FALSE(rope.usesLongDivisors(4096));
  EXPECT_NEAR(rope.attentionFactor, 1.1902380714238083, 1e-12); // sqrt(1 + ln 32 / ln 4096)
  // The newer spelling, with what the family means by absent keys, and the older name.
  for (const char *name : {"longrope", "su"}) {
    auto newer = phiWith(R"({"max_position_embeddings": 131072, "rope_parameters": {
      "rope_type": ")" + std::string(name) +
                         R"(", "rope_theta": 250000, "partial_rotary_factor": 0.5, )" + lists +
                         "}}");
    ASSERT_TRUE(succeeds(newer));
    EXPECT_EQ(newer->ropes[0], rope);
  }
  auto stated = phiWith(R"({"max_position_embeddings": 8192, "partial_rotary_factor": 0.5,
    "rope_scaling": {"type": "longrope", "factor": 2, "attention_factor": 1.25, )" +
                        lists + "}}");
  ASSERT_TRUE(succeeds(stated));
  EXPECT_EQ(stated->ropes[0].attentionFactor, 1.25);
  // A family without a trained length of its own scales by what is stated.
  auto llama = configWith(R"({"head_dim": 8, "rope_scaling": {"type": "longrope", "factor": 4, )" +
                          lists + "}}");
  ASSERT_TRUE(succeeds(llama));
  EXPECT_EQ(llama->ropes[0].originalPositions, 512u);
  EXPECT_NEAR(llama->ropes[0].attentionFactor, std::sqrt(1 + std::log(4) / std::log(512)), 1e-12);
  auto refused = [&](const std::string &scaling, std::string_view code, std::string_view mention) {
    return failsWith(phiWith(R"({"partial_rotary_factor": 0.5, "max_position_embeddings": 8192,
                                 "rope_scaling": {"type": "longrope", )" +
                             scaling + "}}"),
                     code, {mention, "config.json"});
  };
  EXPECT_TRUE(refused(R"("factor": 3, )" + lists, "INGOT-E1056", "factor"));
  EXPECT_TRUE(refused(R"("long_factor": [1, 1, 1, 1])", "INGOT-E1005", "short_factor"));
  EXPECT_TRUE(refused(R"("short_factor": 1, "long_factor": 1)", "INGOT-E1004", "a list"));
  EXPECT_TRUE(refused(R"("short_factor": [1, 0, 1, 1], "long_factor": [1, 1, 1, 1])", "INGOT-E1006",
                      "short_factor[1]"));
  EXPECT_TRUE(refused(R"("short_factor": [1, 1, 1], "long_factor": [1, 1, 1])", "INGOT-E1051",
                      "3 numbers"));
  EXPECT_TRUE(refused(R"("short_mscale": 1.1, )" + lists, "INGOT-E1056", "\"short_mscale\""));
}

TEST(ModelConfig, ReadsYarn) {
  Rope yarn{.type = RopeType::Yarn,
            .theta = 1e6,
            .factor = 4,
            .fastTurns = 32,
            .slowTurns = 1,
            .attentionFactor = 0.1 * std::log(4) + 1,
            .originalPositions = 128};
  auto rope = [](std::string_view changes) {
    auto config = configWith(changes);
    EXPECT_TRUE(succeeds(config)) << changes;
    return config->ropes[0];
  };
  EXPECT_EQ(rope(R"({"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0,
                     "original_max_position_embeddings": 128}})"),
            yarn);
  EXPECT_EQ(rope(R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4,
                     "original_max_position_embeddings": 128, "beta_fast": 32, "beta_slow": 1,
                     "truncate": true, "attention_factor": null}})"),
            yarn);
  EXPECT_EQ(rope(R"({"rope_scaling": {"type": "yarn", "factor": 4}})").originalPositions, 512u);
  Rope other = rope(R"({"rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 16,
                        "beta_slow": 2, "truncate": false, "attention_factor": 0.75}})");
  EXPECT_EQ(other.fastTurns, 16.0);
  EXPECT_EQ(other.slowTurns, 2.0);
  EXPECT_FALSE(other.wholePairs);
  EXPECT_EQ(other.attentionFactor, 0.75);
  EXPECT_NEAR(rope(R"({"rope_scaling": {"type": "yarn", "factor": 4, "mscale": 1,
                       "mscale_all_dim": 0.5}})")
                  .attentionFactor,
              (0.1 * std::log(4) + 1) / (0.05 * std::log(4) + 1), 1e-12);
  const std::string factors = R"({"rope_scaling": {"type": "yarn", "factor": 4, "finetuned": true,
                                  "attn_factor": 0.5)";
  EXPECT_NEAR(rope(factors + "}}").attentionFactor, 0.5 * (0.1 * std::log(4) + 1), 1e-12);
  EXPECT_TRUE(failsWith(configWith(factors + R"(, "attention_factor": 0.75}})"), "INGOT-E1056",
                        {"attn_factor"}));
  EXPECT_TRUE(failsWith(configWith(R"({"rope_scaling": {"type": "yarn", "factor": 4,
                                       "beta_fast": 1, "beta_slow": 2}})"),
                        "INGOT-E1051", {"beta_fast"}));
  EXPECT_TRUE(failsWith(configWith(R"({"rope_theta": 1,
                                       "rope_scaling": {"type": "yarn", "factor": 4}})"),
                        "INGOT-E1051", {"rope_theta"}));
  EXPECT_TRUE(
      failsWith(configWith(R"({"rope_scaling": {"type": "yarn"}})"), "INGOT-E1005", {"factor"}));
}

TEST(ModelConfig, RefusesBadRope) {
  auto refused = [](std::string_view changes, std::string_view code, std::string_view mention) {
    return failsWith(configWith(changes), code, {mention, "config.json"});
  };
  EXPECT_TRUE(
      refused(R"({"rope_scaling": {"rope_type": "ntk", "factor": 4}})", "INGOT-E1052", "\"ntk\""));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"factor": 4}})", "INGOT-E1056", "\"factor\""));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear"}})", "INGOT-E1005", "factor"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear", "factor": 0.5}})", "INGOT-E1006",
                      "rope_scaling.factor"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear", "rope_type": "dynamic"}})",
                      "INGOT-E1056", "rope_type and type"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "mrope", "rope_type": "yarn", "factor": 4}})",
                      "INGOT-E1056", "yarn and mrope"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "ntk", "rope_type": "default"}})", "INGOT-E1052",
                      "rope_scaling.type"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear", "factor": 2, "mscale": 1}})",
                      "INGOT-E1056", "\"mscale\""));
  EXPECT_TRUE(refused(R"({"rope_scaling": 3})", "INGOT-E1004", "an object"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": 3}})", "INGOT-E1004", "a string"));
  EXPECT_TRUE(refused(R"({"rope_theta": 0})", "INGOT-E1006", "rope_theta"));
  EXPECT_TRUE(refused(R"({"rope_theta": 100, "rope_parameters": {"rope_theta": 200}})",
                      "INGOT-E1056", "given twice"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "linear", "factor": 2},
                          "rope_parameters": {"rope_type": "linear", "factor": 4}})",
                      "INGOT-E1056", "disagree"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "dynamic", "factor": 2,
                          "original_max_position_embeddings": 256}})",
                      "INGOT-E1056", "max_position_embeddings"));
  EXPECT_TRUE(refused(R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4,
                          "high_freq_factor": 4, "original_max_position_embeddings": 256}})",
                      "INGOT-E1051", "high_freq_factor"));
  EXPECT_TRUE(
      refused(R"({"rope_parameters": {"full_attention": {"rope_type": "default"}, "other": {}}})",
              "INGOT-E1056", "other"));
}

TEST(ModelConfig, RefusesWhatItCannotCompute) {
  auto refused = [](std::string_view changes, std::string_view code, std::string_view mention) {
    return failsWith(configWith(changes), code, {mention, "config.json"});
  };
  EXPECT_TRUE(refused(R"({"architectures": ["OPTForCausalLM"]})", "INGOT-E1050",
                      "\"OPTForCausalLM\" is not supported"));
  EXPECT_TRUE(refused(R"({"architectures": ["JambaForCausalLM"]})", "INGOT-E1050",
                      "\"JambaForCausalLM\" is not supported: a Mamba-1 model"));
  EXPECT_TRUE(refused(R"({"architectures": ["Other"]})", "INGOT-E1050",
                      "by its keys it could be one of LlamaForCausalLM"));
  EXPECT_TRUE(refused(R"({"architectures": ["Other"], "alibi": true, "word_embed_proj_dim": 64})",
                      "INGOT-E1050",
                      "LlamaForCausalLM does not have its keys alibi, word_embed_proj_dim"));
  EXPECT_TRUE(refused(R"({"architectures": ["Gemma3pForConditionalGeneration"]})", "INGOT-E1050",
                      "the nearest one that is: Gemma3ForCausalLM"));
  EXPECT_TRUE(refused(R"({"architectures": null})", "INGOT-E1005", "architectures"));
  EXPECT_TRUE(refused(R"({"architectures": []})", "INGOT-E1004", "one architecture"));
  EXPECT_TRUE(refused(R"({"hidden_size": null})", "INGOT-E1005", "hidden_size"));
  EXPECT_TRUE(refused(R"({"hidden_size": "64"})", "INGOT-E1004", "hidden_size"));
  EXPECT_TRUE(refused(R"({"hidden_size": 0})", "INGOT-E1006", "hidden_size"));
  EXPECT_TRUE(refused(R"({"vocab_size": 99999999999})", "INGOT-E1006", "vocab_size"));
  EXPECT_TRUE(refused(R"({"num_hidden_layers": 1e3})", "INGOT-E1004", "num_hidden_layers"));
  EXPECT_TRUE(refused(R"({"num_key_value_heads": 3})", "INGOT-E1051", "3 KV heads"));
  EXPECT_TRUE(refused(R"({"num_key_value_heads": 8})", "INGOT-E1006", "num_key_value_heads"));
  EXPECT_TRUE(refused(R"({"hidden_size": 66})", "INGOT-E1051", "hidden_size 66"));
  EXPECT_TRUE(refused(R"({"hidden_size": 12})", "INGOT-E1051", "in pairs"));
  EXPECT_TRUE(refused(R"({"head_dim": 15})", "INGOT-E1051", "in pairs"));
  EXPECT_TRUE(refused(R"({"hidden_size": 16777216})", "INGOT-E1051", "at most"));
  EXPECT_TRUE(refused(R"({"rms_norm_eps": -1e-5})", "INGOT-E1006", "rms_norm_eps"));
  EXPECT_TRUE(refused(R"({"hidden_act": "gelu"})", "INGOT-E1053", "\"gelu\""));
  EXPECT_TRUE(refused(R"({"torch_dtype": "int3"})", "INGOT-E1055", "\"int3\""));
  EXPECT_TRUE(refused(R"({"partial_rotary_factor": 0.5})", "INGOT-E1057", "partial"));
  auto beyond = configWith(R"({"bos_token_id": 100, "eos_token_id": [1, 100, -1]})");
  ASSERT_TRUE(succeeds(beyond));
  EXPECT_FALSE(beyond->bosId);
  EXPECT_EQ(beyond->eosIds, std::vector<uint64_t>{1});
  EXPECT_EQ(beyond->deviations.size(), 3u);
  EXPECT_TRUE(failsWith(parseModelConfig("[]", "config.json"), "INGOT-E1004"));
  EXPECT_TRUE(failsWith(readModelConfig("/nonexistent/config.json"), "INGOT-E7001"));
}

TEST(GenerationConfig, ReadsEveryKey) {
  auto config = GenerationConfig::parse(
      R"({"eos_token_id": [7, 8], "bos_token_id": 1, "pad_token_id": 0, "do_sample": true,
          "temperature": 0.6, "top_p": 0.9, "top_k": 50, "min_p": 0.05,
          "repetition_penalty": 1.1, "transformers_version": "4.41.2"})",
      "g.json", 100);
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->eosIds, (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(config->bosId, 1u);
  EXPECT_EQ(config->padId, 0u);
  EXPECT_EQ(config->doSample, true);
  EXPECT_EQ(config->temperature, 0.6);
  EXPECT_EQ(config->topP, 0.9);
  EXPECT_EQ(config->topK, 50u);
  EXPECT_EQ(config->minP, 0.05);
  EXPECT_EQ(config->repetitionPenalty, 1.1);
}

TEST(GenerationConfig, LeavesOutWhatIsNotGiven) {
  auto config = GenerationConfig::parse(R"({"pad_token_id": -1, "top_k": null})", "g.json", 100);
  ASSERT_TRUE(succeeds(config));
  EXPECT_FALSE(config->eosIds || config->bosId || config->padId || config->doSample);
  EXPECT_FALSE(config->temperature || config->topP || config->topK || config->minP);
  EXPECT_FALSE(config->repetitionPenalty);
}

TEST(GenerationConfig, TellsValuesThatMakeNoSense) {
  for (const auto &[text, key] : {std::pair(R"({"eos_token_id": 100})", "eos_token_id"),
                                  {R"({"bos_token_id": -1})", "bos_token_id"},
                                  {R"({"temperature": -1})", "temperature"},
                                  {R"({"temperature": "hot"})", "temperature"},
                                  {R"({"temperature": NaN})", "temperature"},
                                  {R"({"top_p": 1.5})", "top_p"},
                                  {R"({"top_k": 1.5})", "top_k"},
                                  {R"({"top_k": -2})", "top_k"},
                                  {R"({"min_p": -0.1})", "min_p"},
                                  {R"({"do_sample": 1})", "do_sample"},
                                  {R"({"repetition_penalty": 0})", "repetition_penalty"},
                                  {R"({"pad_token_id": -2})", "pad_token_id"},
                                  {R"({"pad_token_id": [1, 2]})", "pad_token_id"}}) {
    auto config = GenerationConfig::parse(text, "g.json", 100);
    ASSERT_TRUE(succeeds(config)) << text;
    EXPECT_FALSE(config->eosIds || config->bosId || config->padId || config->doSample) << text;
    EXPECT_FALSE(config->temperature || config->topP || config->topK || config->minP) << text;
    EXPECT_FALSE(config->repetitionPenalty) << text;
    ASSERT_EQ(config->deviations.size(), 1u) << text;
    EXPECT_EQ(config->deviations[0].what, message("generation_config.json ", key));
    EXPECT_TRUE(config->deviations[0].isTold);
  }
  auto config = GenerationConfig::parse(
      R"({"top_k": -1, "eos_token_id": [99, 100], "pad_token_id": 3.0})", "g.json", 100);
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->topK, 0u);
  EXPECT_EQ(config->padId, 3u);
  EXPECT_EQ(config->eosIds, std::vector<uint64_t>{99});
  EXPECT_EQ(config->deviations.size(), 1u);
  // As Gemma 4 has it, and as files have it that ask for nothing.
  config = GenerationConfig::parse(
      R"({"suppress_tokens": [98, 97], "bad_words_ids": [], "no_repeat_ngram_size": 0,
          "forced_eos_token_id": null})",
      "g.json", 100);
  ASSERT_TRUE(succeeds(config));
  ASSERT_EQ(config->deviations.size(), 1u);
  EXPECT_EQ(config->deviations[0].what, "generation_config.json suppress_tokens");
  EXPECT_EQ(config->deviations[0].stated, "[98,97]");
  EXPECT_EQ(GenerationConfig::parse(R"({"top_k": 20.0})", "g.json", 100)->topK, 20u);
  EXPECT_TRUE(failsWith(GenerationConfig::parse("[]", "g.json", 100), "INGOT-E1004"));
}

TEST(ModelConfig, RotationOfAllLayersOfOlmo3) {
  const std::string olmo = R"({"architectures": ["Olmo3ForCausalLM"], "rope_theta": )";
  auto usual = configWith(olmo + "500000}"), other = configWith(olmo + "20000}");
  ASSERT_TRUE(succeeds(usual) && succeeds(other));
  EXPECT_TRUE(usual->deviations.empty());
  EXPECT_EQ(usual->ropes[1].theta, 500000);
  EXPECT_EQ(other->ropes[0].theta, 20000);
  EXPECT_EQ(other->ropes[1].theta, 20000);
  EXPECT_EQ(other->deviations.size(), 1u); // transformers 5 reads it otherwise
}

TEST(ModelConfig, ArchitectureMayStandWithTheTextPart) {
  auto parse = [](std::string_view keys) {
    return parseModelConfig(message("{", keys, R"("model_type": "qwen2_5_vl", "text_config": {
      "architectures": ["Qwen2_5_VLForConditionalGeneration"], "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "vocab_size": 100}})"),
                            "config.json");
  };
  for (const char *keys : {"", R"("architectures": null, )"}) {
    auto config = parse(keys);
    ASSERT_TRUE(config) << config.error().str();
    EXPECT_EQ(config->architecture, "Qwen2_5_VLForConditionalGeneration");
  }
  EXPECT_TRUE(failsWith(parse(R"("architectures": ["Other"], )"), "INGOT-E1050", {"Other"}));
}

TEST(ModelConfig, NoMoreOfAHeadRotatesThanThereIs) {
  const std::string miniMax = R"({"architectures": ["MiniMaxM2ForCausalLM"], "head_dim": 32,
    "num_local_experts": 4, "num_experts_per_tok": 2, "rotary_dim": )";
  auto half = configWith(miniMax + "16}");
  ASSERT_TRUE(succeeds(half));
  EXPECT_EQ(rotaryPairs(*half), 8u);
  EXPECT_TRUE(failsWith(configWith(miniMax + "64}"), "INGOT-E1051"));
}

TEST(ModelConfig, OfTheTextPartOfAModelOfSeveral) {
  auto parse = [](std::string_view text, std::string_view more) {
    return parseModelConfig(message(R"({"architectures": ["Gemma3ForConditionalGeneration"],
      "vision_config": {}, "text_config": {)",
                                    text, R"("hidden_size": 2560, "intermediate_size": 10240,
      "num_hidden_layers": 34, "sliding_window": 1024}, "eos_token_id": [1, 106])",
                                    more, "}"),
                            "config.json");
  };
  auto config = parse(R"("model_type": "gemma3_text", )", "");
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_EQ(config->architecture, "Gemma3ForConditionalGeneration");
  EXPECT_EQ(attentionOf(*config).heads, 8u); // absent keys are the family's
  EXPECT_EQ(config->vocabSize, 262208u);
  EXPECT_EQ(config->eosIds, (std::vector<uint64_t>{1, 106}));
  EXPECT_TRUE(config->tiedEmbeddings);
  EXPECT_EQ(config->deviations.size(), 2u);

  auto untied = parse("", R"(, "tie_word_embeddings": false, "unheard_of": 7)");
  ASSERT_TRUE(untied) << untied.error().str();
  EXPECT_FALSE(untied->tiedEmbeddings);
  EXPECT_EQ(untied->deviations.back().stated, "unheard_of");

  auto other = parse(R"("model_type": "gemma9", )", "");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, "INGOT-E1050");
}
