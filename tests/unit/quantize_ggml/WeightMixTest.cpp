// SPDX-License-Identifier: Apache-2.0
// Which tensor becomes which type: rules one by one, and the files that llama-quantize made.
#include "compiler/quantize/ggml/WeightMix.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <map>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::quantize;
using namespace ingot::test;

/// A model of matrices of 512 columns: in each layer keys, values, outputs, down, and a norm.
static std::vector<Tensor> modelOf(uint64_t layers, bool isTied = false) {
  std::vector<Tensor> tensors;
  auto add = [&](std::string name, std::vector<uint64_t> shape) {
    tensors.push_back({std::move(name), DType::F16, std::move(shape)});
  };
  add("token_embd.weight", {1000, 512});
  if (!isTied)
    add("output.weight", {1000, 512});
  // Backwards: rules count layers, not tensors.
  for (uint64_t layer = layers; layer-- > 0;) {
    const std::string name = "blk." + std::to_string(layer) + ".";
    for (const char *part : {"attn_k", "attn_v", "attn_output", "ffn_down", "ffn_up"})
      add(name + part + ".weight", {512, 512});
    add(name + "attn_norm.weight", {512});
    add(name + "ffn_gate_inp.weight", {8, 512});
    add(name + "attn_v.bias", {512});
  }
  return tensors;
}

static std::map<std::string, DType> typesOf(std::string_view mix, const MixedModel &model,
                                            const std::vector<Tensor> &tensors,
                                            bool hasImportance = false) {
  const auto choices = chooseTypes(*weightMixFromName(mix), model, tensors, hasImportance);
  std::map<std::string, DType> types;
  for (size_t i = 0; i < tensors.size(); ++i)
    types[tensors[i].name] = choices[i].dtype;
  return types;
}

/// The layers whose tensor `part` has type `dtype`.
static std::vector<int> layersWith(const std::map<std::string, DType> &types, DType dtype,
                                   const std::string &part) {
  std::vector<int> layers;
  for (int layer = 0; layer < 32; ++layer)
    if (types.at("blk." + std::to_string(layer) + "." + part + ".weight") == dtype)
      layers.push_back(layer);
  return layers;
}

static const MixedModel dense = {.layers = 32, .heads = 32, .kvHeads = 32};

TEST(WeightMix, NamesAndFileTypes) {
  EXPECT_EQ(weightMixNames().size(), 16u);
  for (const std::string_view name : weightMixNames())
    EXPECT_EQ(nameOf(*weightMixFromName(name)), name);
  EXPECT_EQ(weightMixFromName("q4_k"), nullptr);
  EXPECT_EQ(fileTypeOf(*weightMixFromName("q4_k_m")), 15u);
  EXPECT_EQ(fileTypeOf(*weightMixFromName("iq4_xs")), 30u);
}

TEST(WeightMix, WhatIsNoMatrixStays) {
  for (const std::string_view mix : weightMixNames()) {
    const auto types = typesOf(mix, dense, modelOf(32));
    for (const char *name :
         {"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "blk.0.attn_v.bias"})
      EXPECT_EQ(types.at(name), DType::F16) << mix << ' ' << name;
  }
}

TEST(WeightMix, MoreBitsInQ4_K_M) {
  const auto types = typesOf("q4_k_m", dense, modelOf(32));
  const std::vector<int> more = {0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31};
  EXPECT_EQ(layersWith(types, DType::Q6_K, "attn_v"), more);
  EXPECT_EQ(layersWith(types, DType::Q6_K, "ffn_down"), more);
  EXPECT_EQ(layersWith(types, DType::Q4_K, "ffn_up").size(), 32u);
  EXPECT_EQ(layersWith(types, DType::Q4_K, "attn_output").size(), 32u);
  EXPECT_EQ(types.at("output.weight"), DType::Q6_K);
  EXPECT_EQ(types.at("token_embd.weight"), DType::Q4_K);
  EXPECT_EQ(typesOf("q4_k_m", dense, modelOf(1, true)).at("token_embd.weight"), DType::Q6_K);
}

TEST(WeightMix, FirstLayers) {
  const std::vector<int> two = {0, 1}, four = {0, 1, 2, 3};
  const auto small = typesOf("q4_k_s", dense, modelOf(32));
  EXPECT_EQ(layersWith(small, DType::Q5_K, "attn_v"), four);
  EXPECT_EQ(layersWith(small, DType::Q5_K, "ffn_down"), four);
  const auto three = typesOf("q3_k_m", dense, modelOf(32));
  EXPECT_EQ(layersWith(three, DType::Q5_K, "attn_v"), two);
  EXPECT_EQ(layersWith(three, DType::Q5_K, "ffn_down"), two);
  EXPECT_EQ(layersWith(three, DType::Q4_K, "attn_v").size(), 30u);
  EXPECT_EQ(layersWith(three, DType::Q4_K, "ffn_down").size(), 30u);
  EXPECT_EQ(layersWith(three, DType::Q4_K, "attn_output").size(), 32u);
  EXPECT_EQ(layersWith(three, DType::Q3_K, "attn_k").size(), 32u);
}

TEST(WeightMix, ImportanceDecidesToo) {
  const std::vector<int> four = {0, 1, 2, 3};
  const auto tensors = modelOf(32);
  EXPECT_EQ(layersWith(typesOf("q4_0", dense, tensors, true), DType::Q4_1, "ffn_down"), four);
  EXPECT_TRUE(layersWith(typesOf("q4_0", dense, tensors), DType::Q4_1, "ffn_down").empty());
  EXPECT_EQ(layersWith(typesOf("q5_0", dense, tensors, true), DType::Q5_1, "ffn_down"), four);
  EXPECT_EQ(layersWith(typesOf("iq4_xs", dense, tensors), DType::Q5_K, "ffn_down"), four);
  EXPECT_TRUE(layersWith(typesOf("iq4_xs", dense, tensors, true), DType::Q5_K, "ffn_down").empty());
}

TEST(WeightMix, HeadsAndExperts) {
  const MixedModel grouped = {.layers = 32, .heads = 32, .kvHeads = 8};
  const auto tensors = modelOf(32);
  EXPECT_EQ(typesOf("q2_k", dense, tensors).at("blk.5.attn_v.weight"), DType::Q3_K);
  EXPECT_EQ(typesOf("q2_k", grouped, tensors).at("blk.5.attn_v.weight"), DType::Q4_K);
  EXPECT_EQ(typesOf("iq4_nl", grouped, tensors).at("blk.5.attn_v.weight"), DType::Q5_K);
  const MixedModel experts = {.layers = 32, .heads = 32, .kvHeads = 8, .experts = 8};
  const auto mixed = typesOf("q4_k_m", experts, tensors);
  EXPECT_EQ(mixed.at("blk.5.attn_v.weight"), DType::Q8_0);
  EXPECT_EQ(mixed.at("blk.5.attn_k.weight"), DType::Q8_0);
  EXPECT_EQ(mixed.at("blk.5.attn_output.weight"), DType::Q5_K);
  EXPECT_EQ(typesOf("q5_k_m", experts, tensors).at("blk.5.attn_output.weight"), DType::Q5_K);
  EXPECT_EQ(typesOf("q3_k_l", experts, tensors).at("blk.5.attn_output.weight"), DType::Q3_K);
  const MixedModel large = {.layers = 80, .heads = 64, .kvHeads = 8, .isOf70B = true};
  EXPECT_EQ(typesOf("q4_k_m", large, modelOf(80)).at("blk.10.attn_v.weight"), DType::Q5_K);
}

TEST(WeightMix, RowsThatNoBlockDivides) {
  auto chosen = [](std::string_view mix, uint64_t columns, std::string name) {
    const std::vector<Tensor> tensors = {{std::move(name), DType::F32, {4, columns}}};
    return chooseTypes(*weightMixFromName(mix), dense, tensors, false).front();
  };
  const std::vector<std::tuple<const char *, DType, DType>> smaller = {
      {"q2_k", DType::Q2_K, DType::Q4_0},   {"q3_k_s", DType::Q3_K, DType::Q4_0},
      {"q4_k_m", DType::Q4_K, DType::Q5_0}, {"q5_k_m", DType::Q5_K, DType::Q5_1},
      {"q6_k", DType::Q6_K, DType::Q8_0},   {"iq4_xs", DType::IQ4_XS, DType::IQ4_NL}};
  for (const auto &[mix, wanted, small] : smaller) {
    const MixChoice choice = chosen(mix, 96, "blk.0.ffn_up.weight");
    EXPECT_EQ(choice.dtype, small) << mix;
    EXPECT_EQ(choice.instead, wanted) << mix;
    EXPECT_EQ(chosen(mix, 172, "blk.0.ffn_up.weight").dtype, DType::F16) << mix;
    EXPECT_FALSE(chosen(mix, 512, "blk.0.ffn_up.weight").instead) << mix;
  }
  EXPECT_EQ(chosen("q4_0", 172, "blk.0.ffn_up.weight").instead, DType::Q4_0);
  EXPECT_EQ(chosen("q4_k_m", 96, "output.weight").dtype, DType::Q8_0);
  // Six bits go by blocks of 256, four by blocks of 32.
  EXPECT_EQ(chosen("q4_0", 96, "output.weight").dtype, DType::Q8_0);
}

TEST(WeightMix, LikeTheFilesOfLlamaQuantize) {
  INGOT_NEEDS_SHARED_DATA();
  const std::vector<std::pair<const char *, const char *>> files = {
      {"rot256.Q2_K", "q2_k"},           {"rot256.Q4_K_M", "q4_k_m"},
      {"rot256.Q4_K_S", "q4_k_s"},       {"rot256.Q5_K_M", "q5_k_m"},
      {"rot256.Q6_K", "q6_k"},           {"rot256.Q8_0", "q8_0"},
      {"TinyStories-656K.Q4_0", "q4_0"}, {"TinyStories-656K.Q4_K_M", "q4_k_m"},
      {"TinyStories-656K.Q5_0", "q5_0"}, {"TinyStories-656K.IQ4_NL", "iq4_nl"}};
  for (const auto &[file, mix] : files) {
    const auto model = openGguf(sharedData("gguf") / (std::string(file) + ".gguf"));
    ASSERT_TRUE(succeeds(model)) << file;
    std::vector<Tensor> source = model->tensors;
    for (Tensor &tensor : source)
      tensor.dtype = DType::F32;
    const auto choices =
        chooseTypes(*weightMixFromName(mix), MixedModel::of(model->metadata), source, false);
    for (size_t i = 0; i < source.size(); ++i)
      EXPECT_EQ(dtypeName(choices[i].dtype), dtypeName(model->tensors[i].dtype))
          << file << ' ' << source[i].name;
  }
}
