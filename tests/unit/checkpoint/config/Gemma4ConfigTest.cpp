// SPDX-License-Identifier: Apache-2.0
// What Gemma 4's config.json says of layers, in the forms of releases.
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/SmallConfig.h"

using namespace ingot::checkpoint;
using namespace ingot::test;

static const std::string gemma4 = R"("architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 6,
    "head_dim": 16, "global_head_dim": 32, "num_key_value_heads": 2, "sliding_window": 24)";

TEST(Gemma4Config, HasOtherHeadsInFullLayers) {
  auto config = configWith("{" + gemma4 + R"(, "hidden_size_per_layer_input": 0,
    "attention_k_eq_v": true, "num_global_key_value_heads": 1, "vocab_size_per_layer_input": 0})");
  ASSERT_TRUE(succeeds(config));
  const Attention &sliding = attentionOf(*config, 0), &full = attentionOf(*config, 5);
  EXPECT_TRUE(slides(*config, 4) && !slides(*config, 5));
  EXPECT_EQ(sliding.headDim, 16u);
  EXPECT_EQ(sliding.kvHeads, 2u);
  EXPECT_EQ(full.headDim, 32u);
  EXPECT_EQ(full.kvHeads, 1u);
  EXPECT_TRUE(full.valueIsKey && !sliding.valueIsKey && sliding.valueNorm);
  EXPECT_EQ(full.scaling, 1.0);
  EXPECT_EQ(config->layerInputs.columns, 0u);
  const Rope &proportional = config->ropes[0];
  EXPECT_TRUE(proportional.type == RopeType::Proportional);
  EXPECT_EQ(proportional.theta, 1e6);
  EXPECT_EQ(proportional.pairs(32), 16u);
  EXPECT_EQ(proportional.turningPairs(32), 4u);
  EXPECT_EQ(config->ropes[1].theta, 1e4);
  auto given = configWith("{" + gemma4 + R"(, "rope_parameters": {"full_attention": {
    "rope_type": "proportional"}}})");
  ASSERT_TRUE(succeeds(given));
  EXPECT_EQ(given->ropes[0].turningPairs(32), 16u);
  EXPECT_EQ(attentionOf(*given, 5).kvHeads, 2u);
  EXPECT_TRUE(failsWith(configWith("{" + gemma4 + R"(, "use_bidirectional_attention": "all"})"),
                        "INGOT-E1057", {"use_bidirectional_attention"}));
}

TEST(Gemma4Config, HeadsMayBeGivenByLayer) {
  const auto withLayers = [](const std::string &byLayer) {
    return configWith("{" + gemma4 + R"(, "per_layer_config": )" + byLayer + "}");
  };
  auto config = withLayers(R"({"5": {"head_dim": 64, "num_key_value_heads": 1}})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(attentionOf(*config, 5).headDim, 64u);
  EXPECT_EQ(attentionOf(*config, 5).kvHeads, 1u);
  EXPECT_EQ(attentionOf(*config, 0).headDim, 16u);
  auto alike = withLayers("{}");
  ASSERT_TRUE(succeeds(alike));
  EXPECT_EQ(attentionOf(*alike, 5).headDim, 16u);
  for (const char *wrong : {R"({"4": {"head_dim": 64}})", R"({"7": {"head_dim": 64}})",
                            R"({"5": {"intermediate_size": 64}})", "3"})
    EXPECT_TRUE(failsWith(withLayers(wrong), "INGOT-E1057", {"per_layer_config"})) << wrong;
  EXPECT_TRUE(failsWith(withLayers(R"({"5": 64})"), "INGOT-E1004", {"per_layer_config"}));
  EXPECT_TRUE(
      failsWith(withLayers(R"({"5": {"head_dim": 63}})"), "INGOT-E1051", {"per_layer_config"}));
}

TEST(Gemma4Config, LastLayersMayReadKeysOfOthers) {
  auto config = configWith("{" + gemma4 + R"(, "num_kv_shared_layers": 2, "vocab_size": 64,
    "use_double_wide_mlp": true, "layer_types": ["full_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(attentionOf(*config, 4).cacheLayer, 3u);
  EXPECT_EQ(attentionOf(*config, 5).cacheLayer, 2u); // the last layer is full
  EXPECT_EQ(config->layersWithKeys(), 4u);
  EXPECT_EQ(mlpOf(*config, 4).innerSize, 2 * mlpOf(*config, 3).innerSize);
  EXPECT_EQ(config->layerInputs.columns, 256u);
  EXPECT_TRUE(failsWith(configWith("{" + gemma4 + R"(, "num_kv_shared_layers": 6})"), "INGOT-E1051",
                        {"num_kv_shared_layers"}));
  EXPECT_TRUE(failsWith(configWith("{" + gemma4 + R"(, "num_kv_shared_layers": 1})"), "INGOT-E1051",
                        {"num_kv_shared_layers"}));
  EXPECT_TRUE(failsWith(configWith("{" + gemma4 + R"(, "vocab_size_per_layer_input": 3})"),
                        "INGOT-E1051", {"vocab_size_per_layer_input"}));
}

TEST(Gemma4Config, ExpertsStandBesideMlps) {
  const std::string experts = R"(, "hidden_size_per_layer_input": 0, "num_experts": 6,
    "top_k_experts": 2, "moe_intermediate_size": 24)";
  auto config = configWith("{" + gemma4 + experts + R"(, "enable_moe_block": true})");
  ASSERT_TRUE(succeeds(config));
  const auto &both = std::get<MlpAndExperts>(config->layers[0].channelMixer);
  EXPECT_EQ(both.experts.count, 6u);
  EXPECT_EQ(both.experts.perToken, 2u);
  EXPECT_EQ(both.experts.innerSize, 24u);
  EXPECT_EQ(both.experts.path(), "");
  EXPECT_EQ(both.mlp.activation, Activation::GeluTanh);
  EXPECT_FALSE(isSparse(*configWith("{" + gemma4 + experts + "}"), 0));
  EXPECT_TRUE(failsWith(configWith("{" + gemma4 + R"(, "enable_moe_block": true})"), "INGOT-E1005",
                        {"num_experts"}));
}
