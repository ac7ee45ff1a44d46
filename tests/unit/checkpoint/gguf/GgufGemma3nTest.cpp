// SPDX-License-Identifier: Apache-2.0
// GGUF files of Gemma 3n: what their metadata says of streams and layers, and matrices in stacks.
#include "compiler/checkpoint/gguf/GgufNames.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/gguf/SmallGguf.h"

#include <cmath>
#include <limits>

using namespace ingot::checkpoint;
using namespace ingot::test;

static constexpr float none = -std::numeric_limits<float>::infinity();

/// A model whose first layer slides and whose second does not, but for keys in `without`.
static Expected<Checkpoint> openGemma3n(std::initializer_list<std::string_view> without = {},
                                        const std::function<void(GgufWriter &)> &add = {}) {
  auto has = [&](std::string_view key) { return std::ranges::find(without, key) == without.end(); };
  return openWith(
      [&](GgufWriter &writer) {
        const std::string prefix = "gemma3n.";
        for (const auto &[key, value] : {std::pair("attention.key_length", 4u),
                                         {"attention.sliding_window", 16},
                                         {"attention.shared_kv_layers", 0},
                                         {"embedding_length_per_layer_input", 4},
                                         {"altup.num_inputs", 3},
                                         {"altup.active_idx", 1}})
          if (has(key))
            writer.u32(prefix + key, value);
        if (has("attention.sliding_window_pattern"))
          addFlags(writer, prefix + "attention.sliding_window_pattern", {true, false});
        if (has("activation_sparsity_scale"))
          writer.numbers(prefix + "activation_sparsity_scale",
                         std::vector<float>{1.6448533535003662f, none});
        if (add)
          add(writer);
      },
      "gemma3n", without);
}

TEST(GgufGemma3n, ReadsStreamsAndLayersThatDiffer) {
  auto model = openGemma3n({"feed_forward_length"}, [](GgufWriter &writer) {
    writer.numbers("gemma3n.feed_forward_length", std::vector<int32_t>{12, 20});
    writer.f32("gemma3n.rope.freq_base", 1e6f);
    writer.tensor("blk.0.laurel_l.weight", 0, {8, 5}, std::string(160, 'l'));
  });
  ASSERT_TRUE(succeeds(model));
  const ModelConfig &config = model->config();
  EXPECT_EQ(std::tuple(config.altUp.streams, config.altUp.active, config.altUp.scales),
            std::tuple(3u, 1u, true));
  EXPECT_EQ(config.laurelRank, 5u);
  EXPECT_EQ(config.logitsSoftcap, 30.0);
  EXPECT_FALSE(config.normsLessOne);
  EXPECT_EQ(config.embeddingMultiplier, std::sqrt(8.0f));
  EXPECT_EQ(std::tuple(config.layerInputs.columns, config.layerInputs.rows,
                       config.layerInputs.multiplier),
            std::tuple(4u, 4u, 2.0));
  EXPECT_EQ(mlpOf(config, 0).innerSize, 12u);
  EXPECT_EQ(mlpOf(config, 1).innerSize, 20u);
  EXPECT_NEAR(mlpOf(config, 0).gateSparsity, 0.95, 1e-7);
  EXPECT_EQ(mlpOf(config, 1).gateSparsity, 0.0);
  EXPECT_TRUE(slides(config, 0) && !slides(config, 1));
  const Attention &sliding = attentionOf(config, 0);
  EXPECT_EQ(std::tuple(sliding.kvHeads, sliding.headDim, sliding.scaling, sliding.valueNorm),
            std::tuple(1u, 4u, 1.0, true));
  EXPECT_EQ(config.ropes[*sliding.rope].theta, 1e4);
  EXPECT_EQ(config.ropes[*attentionOf(config, 1).rope].theta, 1e6);
}

TEST(GgufGemma3n, LastLayersReadKeysOfOthers) {
  auto shared = [](const std::vector<bool> &sliding) {
    return openGemma3n(
        {"block_count", "attention.shared_kv_layers", "attention.sliding_window_pattern",
         "activation_sparsity_scale"},
        [&](GgufWriter &writer) {
          writer.u32("gemma3n.block_count", 3).u32("gemma3n.attention.shared_kv_layers", 1);
          addFlags(writer, "gemma3n.attention.sliding_window_pattern", sliding);
          writer.numbers("gemma3n.activation_sparsity_scale", std::vector<float>(3, none));
          writer.f32("gemma3n.rope.freq_base_swa", 500);
          writer.f32("gemma3n.final_logit_softcapping", 7);
        });
  };
  auto model = shared({true, false, true});
  ASSERT_TRUE(succeeds(model));
  EXPECT_EQ(attentionOf(model->config(), 2).cacheLayer, 0u);
  EXPECT_EQ(model->config().ropes[1].theta, 500.0);
  EXPECT_EQ(model->config().logitsSoftcap, 7.0);
  EXPECT_TRUE(failsWith(shared({true, true, false}), "INGOT-E1051",
                        {"gemma3n.attention.shared_kv_layers", "layer 2"}));
}

TEST(GgufGemma3n, StacksOfStreamsAreTakenApart) {
  auto with = [](uint64_t matrices) {
    return openGemma3n({}, [&](GgufWriter &writer) {
      writer.tensor("altup_proj.weight", 0, {8, 8, matrices}, std::string(256 * matrices, 'p'));
      writer.tensor("altup_unembd_proj.weight", 0, {8, 8, 2}, std::string(512, 'u'));
      writer.tensor("blk.1.altup_correct_scale.weight", 0, {8}, std::string(32, 's'));
    });
  };
  auto model = with(2);
  ASSERT_TRUE(succeeds(model));
  for (auto [stack, module] : {std::pair("altup_proj.weight", "model.altup_projections."),
                               {"altup_unembd_proj.weight", "model.altup_unembed_projections."}}) {
    const Tensor *first = model->find(message(module, "0.weight")),
                 *second = model->find(message(module, "1.weight"));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(second->shape, (std::vector<uint64_t>{8, 8}));
    EXPECT_EQ(second->bytes, 256u);
    EXPECT_EQ(second->offset, first->offset + 256);
    EXPECT_EQ(model->shownName(second->name), stack);
  }
  EXPECT_NE(model->find("model.layers.1.altup.correct_output_scale"), nullptr);
  EXPECT_TRUE(failsWith(with(3), "INGOT-E1124", {"\"altup_proj.weight\"", "2 matrices"}));
}

TEST(GgufGemma3n, NamesAreTranslatedBothWays) {
  auto model = openGemma3n();
  ASSERT_TRUE(succeeds(model));
  for (auto [inFile, inModel] :
       {std::pair("altup_correct_coef.weight", "altup.correction_coefs.weight"),
        {"altup_predict_coef.weight", "altup.prediction_coefs.weight"},
        {"altup_router.weight", "altup.modality_router.weight"},
        {"altup_router_norm.weight", "altup.router_norm.weight"},
        {"laurel_l.weight", "laurel.linear_left.weight"},
        {"laurel_r.weight", "laurel.linear_right.weight"},
        {"laurel_post_norm.weight", "laurel.post_laurel_norm.weight"},
        {"inp_gate.weight", "per_layer_input_gate.weight"},
        {"proj.weight", "per_layer_projection.weight"},
        {"post_norm.weight", "post_per_layer_input_norm.weight"}}) {
    const std::string gguf = message("blk.1.", inFile), name = message("model.layers.1.", inModel);
    EXPECT_EQ(modelNameOf(gguf, model->config()), name);
    EXPECT_EQ(ggufNameOf(name, model->config()), gguf);
  }
  for (std::string_view unknown : {"model.altup_projections.x.weight", "model.altup_projections.0",
                                   "model.altup_projections.0.bias"})
    EXPECT_EQ(ggufNameOf(unknown, model->config()), std::nullopt) << unknown;
}

TEST(GgufGemma3n, RefusesWhatDoesNotFit) {
  for (std::string_view key :
       {"attention.sliding_window", "attention.sliding_window_pattern",
        "attention.shared_kv_layers", "embedding_length_per_layer_input", "altup.num_inputs",
        "altup.active_idx", "activation_sparsity_scale", "feed_forward_length"})
    EXPECT_TRUE(failsWith(openGemma3n({key}), "INGOT-E1005", {key}));
  for (auto [key, value] : {std::pair("attention.shared_kv_layers", 2u),
                            {"embedding_length_per_layer_input", 0},
                            {"altup.num_inputs", 1},
                            {"altup.num_inputs", 17},
                            {"altup.active_idx", 3}})
    EXPECT_TRUE(failsWith(
        openGemma3n({key},
                    [&](GgufWriter &writer) { writer.u32(message("gemma3n.", key), value); }),
        "INGOT-E1006", {key}));
  auto scales = [](const std::vector<float> &values) {
    return openGemma3n({"activation_sparsity_scale"}, [&](GgufWriter &writer) {
      writer.numbers("gemma3n.activation_sparsity_scale", values);
    });
  };
  EXPECT_TRUE(failsWith(scales({1, 1, 1}), "INGOT-E1114",
                        {"activation_sparsity_scale", "each of 2 layers"}));
  for (float wrong : {5.0f, -5.0f, -none, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_TRUE(failsWith(scales({1, wrong}), "INGOT-E1006", {"activation_sparsity_scale"}))
        << wrong;
  EXPECT_TRUE(failsWith(openGemma3n({"attention.head_count_kv"},
                                    [](GgufWriter &writer) {
                                      writer.numbers("gemma3n.attention.head_count_kv",
                                                     std::vector<int32_t>{1, 2});
                                    }),
                        "INGOT-E1114", {"head_count_kv", "layers differ"}));
}
