// SPDX-License-Identifier: Apache-2.0
// What configurations say of layers with state spaces, in the forms of releases.
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/SmallConfig.h"

using namespace ingot::checkpoint;
using namespace ingot::test;

static auto nemotron(const std::string &keys) {
  return configWith(R"({"architectures": ["NemotronHForCausalLM"], "num_hidden_layers": 5,
    "mamba_num_heads": 8, "mamba_head_dim": 12, "n_groups": 2, )" +
                    keys + "}");
}

static auto granite(const std::string &keys) {
  return configWith(R"({"architectures": ["GraniteMoeHybridForCausalLM"], "num_local_experts": 0,
    "mamba_n_heads": 8, "shared_intermediate_size": 40, )" +
                    keys + "}");
}

TEST(StateSpaceConfig, LayersMayHaveOneMixer) {
  auto config = nemotron(R"("hybrid_override_pattern": "M-M*E", "n_routed_experts": 8,
    "moe_latent_size": 16)");
  ASSERT_TRUE(succeeds(config));
  const auto &layers = config->layers;
  const auto *space = std::get_if<StateSpace>(&layers[0].tokenMixer);
  ASSERT_TRUE(space);
  EXPECT_EQ(space->columns(), 96u);
  EXPECT_EQ(space->mixedColumns(), 96u + 2 * 2 * 128);
  EXPECT_EQ(space->module, "mixer");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers[0].channelMixer));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers[1].tokenMixer));
  EXPECT_TRUE(layers[1].mlp() && !layers[1].mlp()->isGated);
  EXPECT_TRUE(layers[3].attention() && !layers[3].attention()->rope);
  ASSERT_TRUE(layers[4].experts());
  EXPECT_EQ(layers[4].experts()->latentSize, 16u);
  // The list of transformers 5, which counts the layers.
  auto listed = nemotron(R"("num_hidden_layers": null, "n_routed_experts": 8,
    "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"])");
  ASSERT_TRUE(succeeds(listed));
  EXPECT_EQ(listed->layers.size(), 4u);
  EXPECT_TRUE(listed->layers[1].experts() && listed->layers[2].attention());
  for (const char *wrong :
       {R"("hybrid_override_pattern": "M-M*")", R"("hybrid_override_pattern": "M-M*E")",
        R"("hybrid_override_pattern": "M-M*X")", R"("layers_block_type": ["mamba"])"})
    EXPECT_TRUE(failsWith(nemotron(wrong), "INGOT-E1057", {}));
  EXPECT_TRUE(failsWith(nemotron(R"("layers_block_type": 5)"), "INGOT-E1006", {}));
}

TEST(StateSpaceConfig, StepsHaveLimits) {
  const std::string types = R"("layer_types": ["mamba", "attention"], "time_step_limit": )";
  auto limited = granite(types + "[0.1, 0.5]");
  ASSERT_TRUE(succeeds(limited));
  const auto &space = std::get<StateSpace>(limited->layers[0].tokenMixer);
  EXPECT_EQ(space.least, 0.1);
  EXPECT_EQ(space.most, 0.5);
  auto open = granite(types + R"([0.0, {"__float__": "Infinity"}])");
  ASSERT_TRUE(succeeds(open));
  EXPECT_EQ(std::get<StateSpace>(open->layers[0].tokenMixer).most,
            std::numeric_limits<float>::max());
  for (const char *wrong : {"[0.5, 0.1]", "[0.5]"})
    EXPECT_TRUE(failsWith(granite(types + wrong), "INGOT-E1051", {"time_step_limit"})) << wrong;
  for (const char *wrong : {"[-1, 1]", R"([0, {"__float__": "NaN"}])"})
    EXPECT_TRUE(failsWith(granite(types + wrong), "INGOT-E1006", {"time_step_limit"})) << wrong;
  EXPECT_TRUE(failsWith(granite(types + R"([0, {"__float__": "5"}])"), "INGOT-E1004", {}));
}

TEST(StateSpaceConfig, HeadsMakeTheWidth) {
  auto config = granite(R"("layer_types": ["linear_attention", "full_attention"])");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(std::get<StateSpace>(config->layers[0].tokenMixer).headDim, 16u);
  EXPECT_TRUE(config->layers[1].attention() && !config->layers[1].attention()->rope);
  EXPECT_EQ(mlpOf(*config).innerSize, 40u);
  EXPECT_TRUE(succeeds(granite(R"("mamba_d_head": "auto")")));
  EXPECT_TRUE(failsWith(granite(R"("mamba_d_head": 12)"), "INGOT-E1051", {"mamba_n_heads"}));
  EXPECT_TRUE(failsWith(granite(R"("mamba_n_groups": 3)"), "INGOT-E1051", {"mamba_n_heads"}));
  EXPECT_TRUE(failsWith(granite(R"("position_embedding_type": "alibi")"), "INGOT-E1057",
                        {"position_embedding_type"}));
}

TEST(StateSpaceConfig, FalconHasBothInEachLayer) {
  auto config = configWith(R"({"architectures": ["FalconH1ForCausalLM"], "mamba_n_heads": 8,
    "mamba_d_ssm": 96, "key_multiplier": 0.5, "lm_head_multiplier": 0.25,
    "ssm_multipliers": [0.5, 0.6, 0.7, 0.8, 0.9], "mlp_multipliers": [2.0, 3.0]})");
  ASSERT_TRUE(succeeds(config));
  const auto &both = std::get<AttentionAndStateSpace>(config->layers[1].tokenMixer);
  EXPECT_EQ(both.space.headDim, 12u);
  EXPECT_EQ(both.space.factors[4], 0.9);
  EXPECT_TRUE(both.space.norm == StateSpaceNorm::None);
  EXPECT_EQ(both.attention.scaling, 0.125);
  EXPECT_EQ(config->logitsDivisor, 4.0);
  EXPECT_EQ(mlpOf(*config).downFactor, 3.0);
  EXPECT_TRUE(failsWith(configWith(R"({"architectures": ["FalconH1ForCausalLM"],
    "mamba_n_heads": 8, "mlp_multipliers": [2.0]})"),
                        "INGOT-E1051", {"mlp_multipliers"}));
}
