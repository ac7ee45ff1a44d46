// SPDX-License-Identifier: Apache-2.0
// GGUF files of Granite 4, Nemotron and Falcon-H1: what their metadata say of state spaces and of
// layers that differ.
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
using Lists = std::map<std::string, std::vector<int32_t>>;
using Add = std::function<void(GgufWriter &)>;

/// A model of three layers; keys that are 0 are left out.
static Expected<Checkpoint> openWith(std::string_view architecture, const Keys &changed,
                                     const Lists &lists, const Add &add = {}) {
  Keys keys = {
      {"context_length", 64},      {"embedding_length", 8},     {"block_count", 3},
      {"vocab_size", 4},           {"attention.head_count", 2}, {"attention.head_count_kv", 1},
      {"feed_forward_length", 12}, {"ssm.conv_kernel", 4},      {"ssm.state_size", 3},
      {"ssm.group_count", 2},      {"ssm.time_step_rank", 6},   {"ssm.inner_size", 30}};
  for (const auto &[key, value] : changed)
    keys[key] = value;
  GgufWriter writer;
  writer.string("general.architecture", architecture);
  writer.f32(message(architecture, ".attention.layer_norm_rms_epsilon"), 1e-6f);
  for (const auto &[key, value] : keys)
    if (value != 0 && !lists.contains(key))
      writer.u32(message(architecture, ".", key), value);
  for (const auto &[key, values] : lists)
    writer.numbers(message(architecture, ".", key), values);
  if (add)
    add(writer);
  TemporaryDirectory directory;
  return Checkpoint::open(directory.write("m.gguf", writer.str()));
}

static Expected<Checkpoint> openGranite(const Keys &changed = {}, const Lists &lists = {},
                                        const Add &add = {}) {
  Lists all = {{"attention.head_count_kv", {0, 1, 0}}};
  for (const auto &[key, values] : lists)
    all[key] = values;
  return openWith("granitehybrid", changed, all, add);
}

static Expected<Checkpoint> openNemotron(const Keys &changed, const Lists &lists,
                                         const Add &add = {}) {
  return openWith("nemotron_h_moe", changed, lists, add);
}

static void addZeros(GgufWriter &writer, std::string_view name, const std::vector<uint64_t> &dims) {
  uint64_t count = 1;
  for (uint64_t dim : dims)
    count *= dim;
  writer.tensor(name, 0, dims, std::string(4 * count, '\0'));
}

TEST(GgufStateSpace, IsReadFromMetadata) {
  auto model = openGranite({}, {}, [](GgufWriter &writer) {
    addZeros(writer, "blk.0.ssm_a", {1, 6});
    addZeros(writer, "blk.0.ssm_d", {1, 6});
    addZeros(writer, "blk.0.ssm_dt.bias", {6});
    addZeros(writer, "blk.0.ssm_norm.weight", {15, 2});
    addZeros(writer, "blk.0.ssm_conv1d.weight", {4, 42});
    addZeros(writer, "blk.2.ssm_conv1d.bias", {42});
  });
  ASSERT_TRUE(succeeds(model));
  const auto &layers = model->config().layers;
  const StateSpace &space = std::get<StateSpace>(layers.at(0).tokenMixer);
  EXPECT_EQ(std::tuple(space.heads, space.headDim, space.groups, space.stateDim, space.taps),
            std::tuple(6u, 5u, 2u, 3u, 4u));
  EXPECT_TRUE(space.expDecay && space.convBias);
  EXPECT_FALSE(space.bias || space.outputBias);
  ASSERT_NE(layers.at(1).attention(), nullptr);
  EXPECT_TRUE(layers.at(1).attention()->ropeInterleaved);
  EXPECT_FALSE(layers.at(2).mlp()->fusedGateUp);
  for (auto [name, shape] : {std::pair("A_log", std::vector<uint64_t>{6}),
                             {"D", {6}},
                             {"dt_bias", {6}},
                             {"norm.weight", {30}},
                             {"conv1d.weight", {42, 1, 4}}}) {
    const Tensor *tensor = model->find(message("model.layers.0.mamba.", name));
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->shape, shape) << name;
  }
}

TEST(GgufStateSpace, RotatesWhereItsFileSaysSo) {
  auto rotates = [](std::optional<bool> finetuned) {
    auto model = openGranite({}, {}, [&](GgufWriter &writer) {
      if (finetuned)
        writer.boolean("granitehybrid.rope.scaling.finetuned", *finetuned);
    });
    return model && model->config().layers.at(1).attention()->rope.has_value();
  };
  EXPECT_TRUE(rotates(std::nullopt) && rotates(true));
  EXPECT_FALSE(rotates(false));
}

TEST(GgufStateSpace, StandsBesideExpertsOrAnMlp) {
  auto dense = openGranite({{"expert_shared_feed_forward_length", 12}});
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(dense->config().firstExperts(), nullptr);
  EXPECT_EQ(dense->config().layers[0].mlp()->innerSize, 12u);
  auto sparse = openGranite(
      {{"expert_count", 3}, {"expert_used_count", 2}, {"expert_shared_feed_forward_length", 7}}, {},
      [](GgufWriter &writer) {
        addZeros(writer, "blk.1.ffn_up_exps.weight", {8, 12, 3});
        addZeros(writer, "blk.1.ffn_down_shexp.weight", {7, 8});
      });
  ASSERT_TRUE(succeeds(sparse));
  EXPECT_EQ(sparse->config().firstExperts()->innerSize, 12u);
  EXPECT_EQ(sparse->config().firstExperts()->sharedSize, 7u);
  EXPECT_NE(sparse->find("model.layers.1.experts.2.up_proj.weight"), nullptr);
  EXPECT_NE(sparse->find("model.layers.1.shared_mlp.output_linear.weight"), nullptr);
}

TEST(GgufStateSpace, IsAloneInLayersOfNemotron) {
  // With a layer behind them that only drafts, and columns that would rotate in no layer.
  auto model = openNemotron(
      {{"block_count", 5},
       {"nextn_predict_layers", 1},
       {"attention.key_length", 6},
       {"rope.dimension_count", 5},
       {"expert_count", 3},
       {"expert_used_count", 2},
       {"expert_feed_forward_length", 10},
       {"expert_shared_count", 1},
       {"expert_shared_feed_forward_length", 7},
       {"moe_latent_size", 4}},
      {{"attention.head_count_kv", {0, 0, 1, 0, 1}}, {"feed_forward_length", {0, 12, 0, 10, 10}}},
      [](GgufWriter &writer) {
        addZeros(writer, "blk.3.ffn_gate_inp.weight", {8, 3});
        addZeros(writer, "blk.3.ffn_latent_down.weight", {8, 4});
        addZeros(writer, "blk.3.exp_probs_b.bias", {3});
        addZeros(writer, "blk.1.attn_norm.weight", {8});
      });
  ASSERT_TRUE(succeeds(model));
  const auto &layers = model->config().layers;
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<StateSpace>(layers[0].tokenMixer));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers[0].channelMixer));
  ASSERT_NE(layers[1].mlp(), nullptr);
  EXPECT_EQ(layers[1].mlp()->innerSize, 12u);
  EXPECT_FALSE(layers[1].mlp()->isGated);
  ASSERT_NE(layers[2].attention(), nullptr);
  EXPECT_FALSE(layers[2].attention()->rope.has_value());
  const Experts *experts = layers[3].experts();
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(std::tuple(experts->innerSize, experts->sharedSize, experts->latentSize),
            std::tuple(10u, 7u, 4u));
  for (std::string_view name :
       {"3.mixer.fc1_latent_proj.weight", "3.mixer.gate.e_score_correction_bias", "1.norm.weight"})
    EXPECT_NE(model->find(message("model.layers.", name)), nullptr) << name;
}

TEST(GgufStateSpace, StandsBesideAttentionInLayersOfFalcon) {
  auto model = openWith("falcon-h1", {}, {}, [](GgufWriter &writer) {
    addZeros(writer, "blk.0.ffn_norm", {8});
    addZeros(writer, "blk.1.ffn_norm.weight", {8});
  });
  ASSERT_TRUE(succeeds(model));
  const auto *both = std::get_if<AttentionAndStateSpace>(&model->config().layers[1].tokenMixer);
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->space.norm, StateSpaceNorm::None);
  for (std::string_view layer : {"0", "1"})
    EXPECT_NE(model->find(message("model.layers.", layer, ".pre_ff_layernorm.weight")), nullptr);
  auto normed = openWith("falcon-h1", {}, {}, [](GgufWriter &writer) {
    addZeros(writer, "blk.0.ssm_norm.weight", {15, 2});
  });
  ASSERT_TRUE(succeeds(normed));
  EXPECT_EQ(std::get<AttentionAndStateSpace>(normed->config().layers[0].tokenMixer).space.norm,
            StateSpaceNorm::GateFirst);
}

TEST(GgufStateSpace, RefusesMetadataThatDoNotFit) {
  for (std::string_view key : {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
                               "ssm.time_step_rank", "ssm.inner_size", "feed_forward_length"})
    EXPECT_TRUE(failsWith(openGranite({{std::string(key), 0}}), "INGOT-E1005", {key}));
  for (uint32_t columns : {31u, 5u})
    EXPECT_TRUE(failsWith(openGranite({{"ssm.inner_size", columns}}), "INGOT-E1051",
                          {"columns are not those of 6 heads"}));
  EXPECT_TRUE(failsWith(openGranite({{"ssm.group_count", 4}}), "INGOT-E1051", {"4 groups"}));
  EXPECT_TRUE(failsWith(openGranite({{"rope.dimension_count", 2}}), "INGOT-E1114",
                        {"rope.dimension_count"}));
  EXPECT_TRUE(failsWith(openGranite({}, {{"attention.head_count_kv", {0, 1}}}), "INGOT-E1114",
                        {"a list of 2 numbers for 3 layers"}));
  EXPECT_TRUE(failsWith(openGranite({}, {{"attention.head_count_kv", {2, 1, 0}}}), "INGOT-E1114",
                        {"differ in this number"}));
  EXPECT_TRUE(failsWith(openNemotron({}, {{"attention.head_count_kv", {0, 1, 0}},
                                          {"feed_forward_length", {0, 12, 12}}}),
                        "INGOT-E1114", {"layer 1 has KV heads too"}));
}
