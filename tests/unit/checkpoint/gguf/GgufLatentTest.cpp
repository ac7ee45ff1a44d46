// SPDX-License-Identifier: Apache-2.0
// GGUF files of models with latent attention: older ones with kv_b whole, newer ones with it by
// heads, and what says how experts are chosen.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <cmath>
#include <functional>
#include <map>

using namespace ingot::checkpoint;
using namespace ingot::test;

using Keys = std::map<std::string, uint32_t>;

static const Keys kWhole = {{"attention.key_length", 6}, {"attention.value_length", 3}};
static const Keys kByHeads = {{"attention.key_length", 7},
                              {"attention.value_length", 5},
                              {"attention.key_length_mla", 6},
                              {"attention.value_length_mla", 3},
                              {"attention.q_lora_rank", 4}};

/// A model of two layers; keys that are 0 are left out.
static Expected<Checkpoint> openWith(const Keys &form, const Keys &changed = {},
                                     const std::function<void(GgufWriter &)> &add = {}) {
  Keys keys = {{"context_length", 64},
               {"embedding_length", 8},
               {"block_count", 2},
               {"vocab_size", 4},
               {"feed_forward_length", 12},
               {"attention.head_count", 2},
               {"attention.head_count_kv", 1},
               {"attention.kv_lora_rank", 5},
               {"rope.dimension_count", 2},
               {"expert_count", 4},
               {"expert_used_count", 2},
               {"expert_shared_count", 2},
               {"expert_feed_forward_length", 10},
               {"expert_group_count", 2},
               {"expert_group_used_count", 1},
               {"leading_dense_block_count", 1}};
  for (const Keys &more : {form, changed})
    for (const auto &[key, value] : more)
      keys[key] = value;
  GgufWriter writer;
  writer.string("general.architecture", "deepseek2");
  writer.f32("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f);
  for (const auto &[key, value] : keys)
    if (value != 0)
      writer.u32(message("deepseek2.", key), value);
  if (add)
    add(writer);
  TemporaryDirectory directory;
  return Checkpoint::open(directory.write("m.gguf", writer.str()));
}

static const LatentAttention &latentOf(const Checkpoint &model) {
  return std::get<LatentAttention>(model.config().layers.at(0).tokenMixer);
}

static void addZeros(GgufWriter &writer, std::string_view name, const std::vector<uint64_t> &dims) {
  uint64_t count = 1;
  for (uint64_t dim : dims)
    count *= dim;
  writer.tensor(name, 0, dims, std::string(4 * count, '\0'));
}

static void addBias(GgufWriter &writer) { addZeros(writer, "blk.1.exp_probs_b.bias", {4}); }

TEST(GgufLatent, HasTheSizesOfHeadsInEitherForm) {
  for (const Keys &form : {kWhole, kByHeads}) {
    auto model = openWith(form);
    ASSERT_TRUE(succeeds(model));
    const LatentAttention &latent = latentOf(*model);
    EXPECT_EQ(std::tuple(latent.heads, latent.latentRank, latent.plainDim, latent.rotaryDim,
                         latent.valueDim),
              std::tuple(2u, 5u, 4u, 2u, 3u));
    EXPECT_EQ(latent.queryRank, form.contains("attention.q_lora_rank") ? 4u : 0u);
    EXPECT_TRUE(latent.ropeInterleaved);
    EXPECT_DOUBLE_EQ(latent.scaling, 1 / std::sqrt(6.0));
    EXPECT_EQ(model->config().layers[0].mlp()->innerSize, 12u);
    EXPECT_EQ(model->config().layers[1].experts()->sharedSize, 20u);
  }
}

TEST(GgufLatent, GrowsByItsMultiplier) {
  auto model =
      openWith(kByHeads, {{"rope.scaling.original_context_length", 16}}, [](GgufWriter &writer) {
        writer.string("deepseek2.rope.scaling.type", "yarn");
        writer.f32("deepseek2.rope.scaling.factor", 4);
        writer.f32("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f);
      });
  ASSERT_TRUE(succeeds(model));
  const double growth = 1 + 0.0707 * std::log(4.0);
  EXPECT_NEAR(latentOf(*model).scaling, growth * growth / std::sqrt(6.0), 1e-7);
  EXPECT_EQ(model->config().ropes.front().attentionFactor, 1);
}

TEST(GgufLatent, ChoosesExpertsAsItsFileSaysOrByTheirBias) {
  auto router = [](const Keys &changed, const std::function<void(GgufWriter &)> &add) {
    auto model = openWith(kByHeads, changed, add);
    EXPECT_TRUE(succeeds(model));
    return std::pair(model->config().architecture, model->config().firstExperts()->routing);
  };
  const auto [older, softmax] = router({}, {});
  EXPECT_EQ(older, "DeepseekV2ForCausalLM");
  EXPECT_FALSE(softmax.sigmoid || softmax.normTopkProb);
  EXPECT_EQ(std::tuple(softmax.groups, softmax.topkGroup, softmax.groupTopk, softmax.bias.empty()),
            std::tuple(2u, 1u, 1u, true));
  const auto [biased, guessed] = router({}, addBias);
  EXPECT_EQ(biased, "DeepseekV3ForCausalLM");
  EXPECT_TRUE(guessed.sigmoid && !guessed.bias.empty());
  const auto [plain, given] = router({{"expert_gating_func", 2}}, [](GgufWriter &writer) {
    writer.boolean("deepseek2.expert_weights_norm", true);
  });
  EXPECT_TRUE(given.sigmoid && given.normTopkProb && given.bias.empty());
  EXPECT_EQ(given.groupTopk, 2u);
  EXPECT_TRUE(
      failsWith(openWith(kByHeads, {{"expert_gating_func", 3}}), "INGOT-E1114", {"gating_func"}));
}

TEST(GgufLatent, HasTensorsByHeadsUnlessTheyAreWholeToo) {
  auto open = [](bool isWholeToo) {
    return openWith(kByHeads, {}, [=](GgufWriter &writer) {
      addZeros(writer, "blk.0.attn_k_b.weight", {4, 5, 2});
      addZeros(writer, "blk.0.attn_v_b.weight", {5, 3, 2});
      addZeros(writer, "blk.0.attn_kv_a_mqa.weight", {8, 7});
      if (isWholeToo)
        addZeros(writer, "blk.0.attn_kv_b.weight", {5, 14});
    });
  };
  const std::string module = "model.layers.0.self_attn.";
  auto byHeads = open(false);
  ASSERT_TRUE(succeeds(byHeads));
  EXPECT_EQ(byHeads->find(module + "k_b_proj.weight")->shape, (std::vector<uint64_t>{10, 4}));
  EXPECT_EQ(byHeads->find(module + "v_b_proj.weight")->shape, (std::vector<uint64_t>{6, 5}));
  EXPECT_NE(byHeads->find(module + "kv_a_proj_with_mqa.weight"), nullptr);
  auto whole = open(true);
  ASSERT_TRUE(succeeds(whole));
  EXPECT_EQ(whole->find(module + "k_b_proj.weight"), nullptr);
  EXPECT_EQ(whole->find(module + "v_b_proj.weight"), nullptr);
  EXPECT_NE(whole->find(module + "kv_b_proj.weight"), nullptr);
}

TEST(GgufLatent, RefusesSizesThatDoNotFit) {
  for (std::string_view key : {"attention.kv_lora_rank", "rope.dimension_count",
                               "attention.value_length_mla", "expert_count"})
    EXPECT_TRUE(failsWith(openWith(kByHeads, {{std::string(key), 0}}), "INGOT-E1005", {key}));
  for (uint32_t rotary : {3u, 6u})
    EXPECT_TRUE(failsWith(openWith(kByHeads, {{"rope.dimension_count", rotary}}), "INGOT-E1051",
                          {"a head of 6 elements"}));
  EXPECT_TRUE(failsWith(openWith(kByHeads, {{"attention.indexer.top_k", 4}}), "INGOT-E1114",
                        {"not known"}));
}
