// SPDX-License-Identifier: Apache-2.0
// What Gemma 3n's config.json says of streams, layers and their inputs.
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/SmallConfig.h"

using namespace ingot::checkpoint;
using namespace ingot::test;

/// A small configuration with `keys`, of `layers` layers.
static Expected<ModelConfig> gemma3n(int layers, const std::string &keys) {
  return configWith(R"({"architectures": ["Gemma3nForCausalLM"], "head_dim": 16,
    "num_hidden_layers": )" +
                    std::to_string(layers) + (keys.empty() ? "" : ", ") + keys + "}");
}

TEST(Gemma3nConfig, AbsentKeysMeanWhatTransformersTakesThemFor) {
  auto config = gemma3n(20, R"("vocab_size": null, "num_key_value_heads": null,
    "num_attention_heads": null, "max_position_embeddings": null)");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->vocabSize, 262400u);
  EXPECT_EQ(config->maxPositions, 32768u);
  EXPECT_EQ(config->logitsSoftcap, 30.0);
  EXPECT_TRUE(config->tiedEmbeddings);
  EXPECT_EQ(config->altUp.streams, 4u);
  EXPECT_EQ(config->altUp.active, 0u);
  EXPECT_TRUE(config->altUp.scales);
  EXPECT_EQ(config->laurelRank, 64u);
  EXPECT_EQ(config->layerInputs.columns, 256u);
  EXPECT_EQ(config->layerInputs.rows, 262144u);
  EXPECT_EQ(config->layerInputs.multiplier, 16.0);
  EXPECT_EQ(config->ropes[0].theta, 1e6);
  EXPECT_EQ(config->ropes[1].theta, 1e4);
  const Attention &first = attentionOf(*config, 0), &full = attentionOf(*config, 4);
  EXPECT_EQ(first.heads, 8u);
  EXPECT_EQ(first.kvHeads, 2u);
  EXPECT_EQ(first.slidingWindow, 512u);
  EXPECT_EQ(first.scaling, 1.0);
  EXPECT_TRUE(first.valueNorm && first.queryKeyNorm == QueryKeyNorm::Heads);
  EXPECT_EQ(full.slidingWindow, 0u);
  EXPECT_EQ(config->layersWithKeys(), 5u);
  EXPECT_EQ(attentionOf(*config, 19).cacheLayer, 4u);
  EXPECT_EQ(attentionOf(*config, 18).cacheLayer, 3u);
  EXPECT_EQ(mlpOf(*config, 9).gateSparsity, 0.95);
  EXPECT_EQ(mlpOf(*config, 10).gateSparsity, 0.0);
}

TEST(Gemma3nConfig, ListsHaveANumberForEachLayer) {
  const std::string own = R"("num_kv_shared_layers": 0, )";
  auto config = gemma3n(2, own + R"("intermediate_size": [96, 64],
    "activation_sparsity_pattern": [0.0, 0.5], "altup_coef_clip": 120.0,
    "altup_lr_multiplier": 1.0, "query_pre_attn_scalar": 256)");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(mlpOf(*config, 0).innerSize, 96u);
  EXPECT_EQ(mlpOf(*config, 1).innerSize, 64u);
  EXPECT_EQ(mlpOf(*config, 0).gateSparsity, 0.0);
  EXPECT_EQ(mlpOf(*config, 1).gateSparsity, 0.5);
  EXPECT_TRUE(config->deviations.empty());
  auto plain = gemma3n(2, own + R"("num_hidden_layers": 2)");
  ASSERT_TRUE(succeeds(plain));
  EXPECT_EQ(mlpOf(*plain, 1).innerSize, 96u);
  EXPECT_EQ(mlpOf(*plain, 0).gateSparsity, 0.0);
  EXPECT_TRUE(failsWith(gemma3n(2, own + R"("intermediate_size": [96])"), "INGOT-E1051",
                        {"intermediate_size"}));
  for (const char *wrong : {"[0.5]", "0.5"})
    EXPECT_TRUE(failsWith(gemma3n(2, own + R"("activation_sparsity_pattern": )" + wrong),
                          "INGOT-E1051", {"activation_sparsity_pattern"}));
  EXPECT_FALSE(gemma3n(2, own + R"("activation_sparsity_pattern": [0.5, 1.0])"));
  EXPECT_FALSE(configWith(R"({"intermediate_size": [96, 96]})")); // of a Llama
}

TEST(Gemma3nConfig, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(failsWith(gemma3n(2, ""), "INGOT-E1051", {"num_kv_shared_layers"}));
  EXPECT_TRUE(failsWith(gemma3n(4, R"("num_kv_shared_layers": 1, "layer_types": [
    "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])"),
                        "INGOT-E1051", {"num_kv_shared_layers"}));
  for (const char *wrong : {R"("altup_num_inputs": 1)", R"("altup_active_idx": 4)",
                            R"("laurel_rank": 0)", R"("hidden_size_per_layer_input": 0)"})
    EXPECT_FALSE(gemma3n(2, R"("num_kv_shared_layers": 0, )" + std::string(wrong))) << wrong;
}

TEST(Gemma3nConfig, TextPartStandsAmongImagesAndSound) {
  auto config = parseModelConfig(R"({"architectures": ["Gemma3nForConditionalGeneration"],
    "audio_config": {}, "audio_soft_tokens_per_image": 188, "audio_token_id": 262273,
    "boa_token_id": 256000, "boi_token_id": 255999, "eoa_token_id": 262272, "eoi_token_id": 262144,
    "eos_token_id": [1, 106], "image_token_id": 262145, "vision_config": {},
    "vision_soft_tokens_per_image": 256, "torch_dtype": "bfloat16", "text_config": {
    "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 30,
    "num_kv_shared_layers": 10, "model_type": "gemma3n_text"}})",
                                 "config.json");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->altUp.streams, 4u);
  EXPECT_EQ(config->layersWithKeys(), 20u);
  EXPECT_EQ(config->placeholderIds, (std::vector<uint64_t>{262145, 262273, 262144, 262272}));
}
