// SPDX-License-Identifier: Apache-2.0
// GGUF files of Qwen3-Next and Qwen3.5: what their metadata says of delta nets.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <functional>
#include <map>

using namespace ingot::checkpoint;
using namespace ingot::test;

using Keys = std::map<std::string, uint32_t>;

/// A model of two layers, with `changed` keys; 0 takes one away.
static Expected<Checkpoint> openWith(std::string_view architecture, const Keys &changed = {},
                                     const std::function<void(GgufWriter &)> &add = {}) {
  Keys keys = {{"context_length", 64},
               {"embedding_length", 8},
               {"block_count", 2},
               {"vocab_size", 4},
               {"attention.head_count", 2},
               {"attention.head_count_kv", 1},
               {"full_attention_interval", 2},
               {"ssm.conv_kernel", 4},
               {"ssm.state_size", 3},
               {"ssm.group_count", 2},
               {"ssm.time_step_rank", 6},
               {"ssm.inner_size", 30}};
  if (architecture == "qwen35")
    keys["feed_forward_length"] = 12;
  else
    keys.insert({{"expert_count", 3},
                 {"expert_used_count", 2},
                 {"expert_feed_forward_length", 5},
                 {"expert_shared_feed_forward_length", 7}});
  for (const auto &[key, value] : changed)
    keys[key] = value;
  GgufWriter writer;
  writer.string("general.architecture", architecture);
  writer.f32(message(architecture, ".attention.layer_norm_rms_epsilon"), 1e-6f);
  writer.numbers(message(architecture, ".rope.dimension_sections"),
                 std::vector<int32_t>{11, 11, 10, 0});
  for (const auto &[key, value] : keys)
    if (value != 0)
      writer.u32(message(architecture, ".", key), value);
  if (add)
    add(writer);
  TemporaryDirectory directory;
  return Checkpoint::open(directory.write("m.gguf", writer.str()));
}

static const GatedDeltaNet &netOf(const Checkpoint &model, size_t layer = 0) {
  return std::get<GatedDeltaNet>(model.config().layers.at(layer).tokenMixer);
}

TEST(GgufDeltaNet, IsReadFromMetadata) {
  auto model = openWith("qwen35", {}, [](GgufWriter &writer) {
    writer.tensor("blk.0.ssm_a", 0, {6}, std::string(24, 'a'));
    writer.tensor("blk.0.ssm_dt.bias", 0, {6}, std::string(24, 'd'));
    writer.tensor("blk.0.ssm_conv1d.weight", 0, {4, 42}, std::string(672, 'c'));
    writer.tensor("blk.0.post_attention_norm.weight", 0, {8}, std::string(32, 'n'));
  });
  ASSERT_TRUE(succeeds(model));
  const GatedDeltaNet &net = netOf(*model);
  EXPECT_EQ(std::tuple(net.keyHeads, net.valueHeads, net.keyDim, net.valueDim, net.taps),
            std::tuple(2u, 6u, 3u, 5u, 4u));
  EXPECT_TRUE(net.tiledHeads && net.expDecay && !net.gatesByHeads && !net.fusedByHeads);
  EXPECT_TRUE(model->config().layers[1].attention()->outputGate);
  EXPECT_FALSE(model->config().normsLessOne);
  const Tensor *filters = model->find("model.layers.0.linear_attn.conv1d.weight");
  ASSERT_NE(filters, nullptr);
  EXPECT_EQ(filters->shape, (std::vector<uint64_t>{42, 1, 4}));
  for (std::string_view name :
       {"linear_attn.A_log", "linear_attn.dt_bias", "post_attention_layernorm.weight"})
    EXPECT_NE(model->find(message("model.layers.0.", name)), nullptr) << name;
}

TEST(GgufDeltaNet, HasHeadsInTheOrderOfItsFamily) {
  auto moe = openWith("qwen35moe");
  ASSERT_TRUE(succeeds(moe));
  EXPECT_TRUE(netOf(*moe).tiledHeads);
  EXPECT_EQ(moe->config().firstExperts()->innerSize, 5u);
  EXPECT_EQ(moe->config().firstExperts()->sharedSize, 7u);
  EXPECT_TRUE(moe->config().firstExperts()->routing.normTopkProb);
  auto next = openWith("qwen3next", {{"full_attention_interval", 0}, {"block_count", 4}});
  ASSERT_TRUE(succeeds(next));
  EXPECT_TRUE(netOf(*next, 2).gatesByHeads && netOf(*next, 2).expDecay);
  EXPECT_FALSE(netOf(*next, 2).tiledHeads || netOf(*next, 2).fusedByHeads);
  EXPECT_NE(next->config().layers[3].attention(), nullptr);
  auto older = openWith("qwen3next", {}, [](GgufWriter &writer) {
    writer.tensor("blk.0.ssm_in.weight", 0, {8, 72}, std::string(2304, 'i'));
  });
  ASSERT_TRUE(succeeds(older));
  EXPECT_TRUE(netOf(*older).fusedByHeads);
  EXPECT_NE(older->find("model.layers.0.linear_attn.in_proj_qkvz.weight"), nullptr);
}

TEST(GgufDeltaNet, StandsBesideGatedAttentionInOneTensor) {
  auto model = openWith("qwen35", {}, [](GgufWriter &writer) {
    writer.tensor("blk.0.attn_qkv.weight", 0, {8, 42}, std::string(1344, 'd'));
    writer.tensor("blk.1.attn_qkv.weight", 0, {8, 24}, std::string(768, 'a')); // with gates
  });
  ASSERT_TRUE(succeeds(model));
  EXPECT_NE(model->find("model.layers.0.linear_attn.in_proj_qkv.weight"), nullptr);
  const Tensor *query = model->find("model.layers.1.self_attn.q_proj.weight");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->shape, (std::vector<uint64_t>{16, 8}));
}

TEST(GgufDeltaNet, MayBeListed) {
  auto listed = [](const std::string &flags) {
    return openWith("qwen35", {}, [&](GgufWriter &writer) {
      writer.key("qwen35.attention.recurrent_layers", 9, GgufWriter::array(7, flags.size(), flags));
    });
  };
  auto model = listed(std::string("\0\1", 2));
  ASSERT_TRUE(succeeds(model));
  EXPECT_NE(model->config().layers[0].attention(), nullptr);
  EXPECT_EQ(netOf(*model, 1).keyHeads, 2u);
  EXPECT_TRUE(failsWith(listed("\1"), "INGOT-E1114", {"recurrent_layers"}));
}

TEST(GgufDeltaNet, RefusesMetadataThatDoesNotFit) {
  for (std::string_view key : {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
                               "ssm.time_step_rank", "ssm.inner_size"})
    EXPECT_TRUE(failsWith(openWith("qwen35", {{std::string(key), 0}}), "INGOT-E1005", {key}));
  for (std::string_view key : {"expert_feed_forward_length", "expert_shared_feed_forward_length"})
    EXPECT_TRUE(failsWith(openWith("qwen35moe", {{std::string(key), 0}}), "INGOT-E1005", {key}));
  EXPECT_TRUE(failsWith(openWith("qwen35", {{"ssm.group_count", 4}}), "INGOT-E1051",
                        {"4 key heads do not divide 6"}));
  EXPECT_TRUE(failsWith(openWith("qwen35", {{"ssm.inner_size", 32}}), "INGOT-E1051",
                        {"32 columns", "6 value heads"}));
  EXPECT_TRUE(failsWith(openWith("qwen35", {{"ssm.new_idea", 1}}), "INGOT-E1114", {"not known"}));
}
