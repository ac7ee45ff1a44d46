// SPDX-License-Identifier: Apache-2.0
// What is read of models that see.
#include "compiler/checkpoint/config/VisionPlan.h"

#include "compiler/checkpoint/config/ConfigReader.h"
#include "compiler/checkpoint/config/VisionReader.h"
#include "compiler/checkpoint/config/families/Family.h"
#include "tests/unit/checkpoint/CheckpointFiles.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

namespace {

/// A Qwen3-VL with keys of its vision part replaced; a key given as null is removed.
Expected<ModelConfig> qwen3(std::string_view changes, ModelParts parts = ModelParts::All) {
  auto json = nlohmann::json::parse(R"({"architectures": ["Qwen3VLForConditionalGeneration"],
    "image_token_id": 98, "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 96,
      "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 100,
      "rope_parameters": {"rope_type": "default", "mrope_section": [6, 5, 5],
                          "mrope_interleaved": true}},
    "vision_config": {"depth": 3, "hidden_size": 48, "intermediate_size": 60, "num_heads": 2,
      "num_position_embeddings": 64, "out_hidden_size": 96, "deepstack_visual_indexes": [1, 2]}})");
  json["vision_config"].merge_patch(nlohmann::json::parse(changes));
  return parseModelConfig(json.dump(), "config.json", parts);
}

/// A Gemma 4 as `type`, "gemma4" or "gemma4_unified", with keys of its two parts replaced.
Expected<ModelConfig> gemma4(const std::string &type, std::string_view text,
                             std::string_view vision) {
  auto json = nlohmann::json::parse(R"({"image_token_id": 98, "text_config": {"hidden_size": 96,
      "intermediate_size": 160, "num_hidden_layers": 6, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 100, "pad_token_id": 7,
      "vocab_size_per_layer_input": 100}, "vision_config": {}})");
  json["architectures"] = {type == "gemma4" ? "Gemma4ForConditionalGeneration"
                                            : "Gemma4UnifiedForConditionalGeneration"};
  json["text_config"]["model_type"] = type + "_text";
  if (type != "gemma4")
    json["text_config"].erase("vocab_size_per_layer_input");
  json["text_config"].merge_patch(nlohmann::json::parse(text));
  json["vision_config"].merge_patch(nlohmann::json::parse(vision));
  return parseModelConfig(json.dump(), "config.json", ModelParts::All);
}

/// What becomes of `plan` by a preprocessor_config.json.
Outcome readSettings(const ModelConfig &config, std::string_view text, VisionPlan &plan) {
  const TemporaryDirectory folder;
  folder.write("preprocessor_config.json", std::string(text));
  std::vector<std::filesystem::path> inputs;
  return readImageSettings(folder.path(), *config.wrapper->vision, plan, inputs);
}

} // namespace

TEST(VisionPlan, IsReadWhereItIsAskedFor) {
  auto text = qwen3("{}", ModelParts::Text);
  ASSERT_TRUE(text) << text.error().str();
  EXPECT_EQ(text->vision, nullptr);
  auto config = qwen3("{}");
  ASSERT_TRUE(config) << config.error().str();
  ASSERT_NE(config->vision, nullptr);
  const VisionPlan &plan = *config->vision;
  EXPECT_EQ(plan.tower.layers, 3u);
  EXPECT_EQ(plan.tower.patchSize, 16u); // the family's
  EXPECT_EQ(plan.tower.positionSide, 8u);
  EXPECT_EQ(plan.patchesPerRow(), 4u);
  EXPECT_EQ(plan.deepstackLayers, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(plan.images.tokenId, 98u);
}

TEST(VisionPlan, Qwen35HasItsOwnTokenAndNoRowsForFurtherLayers) {
  auto config = parseModelConfig(
      R"({"architectures": ["Qwen3_5ForConditionalGeneration"],
    "text_config": {"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64,
      "vocab_size": 248320, "rope_parameters": {"rope_type": "default", "mrope_interleaved": true,
        "mrope_section": [3, 3, 2], "partial_rotary_factor": 0.25}},
    "vision_config": {"depth": 3, "hidden_size": 48, "intermediate_size": 60, "num_heads": 2,
      "num_position_embeddings": 64, "out_hidden_size": 64, "model_type": "qwen3_5"}})",
      "config.json", ModelParts::All);
  ASSERT_TRUE(config) << config.error().str();
  ASSERT_NE(config->vision, nullptr);
  EXPECT_EQ(config->vision->images.tokenId, 248056u);
  EXPECT_TRUE(config->vision->deepstackLayers.empty());
  EXPECT_EQ(config->vision->axesOf(8), (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 1}));
}

TEST(VisionPlan, SectionsSayWhichPositionTurnsAPair) {
  VisionPlan plan;
  EXPECT_TRUE(plan.axesOf(4).empty());
  plan.sections = {2, 3, 3};
  EXPECT_EQ(plan.axesOf(8), (std::vector<int64_t>{0, 0, 1, 1, 1, 2, 2, 2}));
  plan.sections = {4, 2, 2};
  plan.sectionsInTurn = true;
  EXPECT_EQ(plan.axesOf(8), (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 0}));
}

TEST(VisionPlan, WhatIsNotUnderstoodIsRefused) {
  EXPECT_TRUE(failsWith(qwen3(R"({"use_gates": true})"), "INGOT-E1057", {"use_gates"}));
  EXPECT_TRUE(qwen3(R"({"use_gates": false})")); // says that there are none
  EXPECT_TRUE(failsWith(qwen3(R"({"hidden_act": "relu"})"), "INGOT-E1053", {"relu"}));
  EXPECT_TRUE(failsWith(qwen3(R"({"num_heads": 5})"), "INGOT-E1051", {"5 heads"}));
  EXPECT_TRUE(failsWith(qwen3(R"({"num_position_embeddings": 63})"), "INGOT-E1051", {"63"}));
  EXPECT_TRUE(failsWith(qwen3(R"({"out_hidden_size": 64})"), "INGOT-E1051", {"96 wide"}));
  EXPECT_TRUE(failsWith(qwen3(R"({"deepstack_visual_indexes": [3]})"), "INGOT-E1051", {"layer 3"}));
  EXPECT_TRUE(failsWith(qwen3(R"({"depth": 99999999})"), "INGOT-E1006"));
}

TEST(VisionPlan, SettingsOfPicturesStandBesideIt) {
  auto config = qwen3("{}");
  ASSERT_TRUE(config) << config.error().str();
  VisionPlan plan = *config->vision;
  ASSERT_TRUE(readSettings(*config, R"({"size": {"shortest_edge": 4096, "longest_edge": 65536},
    "image_std": [0.25, 0.5, 1], "resample": 1, "merge_size": 2})",
                           plan));
  EXPECT_EQ(plan.images.minPixels, 4096u);
  EXPECT_EQ(plan.mostRows(), 64u);
  EXPECT_EQ(plan.images.deviation[0], 0.25f);
  EXPECT_EQ(plan.images.filter, ResizeFilter::Lanczos);
  for (const char *text :
       {R"({"do_normalize": false})", R"({"rescale_factor": 1})", R"({"resample": 0})",
        R"({"crops": 3})", R"({"merge_size": 3})", R"({"image_std": [1, 0, 1]})",
        R"({"image_mean": [1, 2]})", R"({"patch_size": 14})", R"({"max_pixels": 100})"}) {
    VisionPlan other = *config->vision;
    EXPECT_FALSE(readSettings(*config, text, other)) << text;
  }
}

TEST(VisionPlan, Gemma4HasATower) {
  auto config = gemma4("gemma4", "{}", R"({"num_hidden_layers": 3, "head_dim": 72,
    "default_output_length": 280, "rope_parameters": {"rope_type": "default", "rope_theta": 50}})");
  ASSERT_TRUE(config) << config.error().str();
  const VisionPlan &plan = *config->vision;
  EXPECT_EQ(plan.tower.layers, 3u);
  EXPECT_EQ(plan.tower.columnsOfHead(), 72u);
  EXPECT_EQ(plan.tower.theta, 50);
  EXPECT_FALSE(plan.tower.clips);
  EXPECT_TRUE(plan.names.shift.empty());
  EXPECT_EQ(plan.patchesPerRow(), 9u);
  EXPECT_EQ(plan.patchSide(), 16u);
  EXPECT_EQ(plan.images.stepToken, 7u); // for inputs of layers
  EXPECT_FALSE(plan.images.seesAhead);
  auto other = gemma4(
      "gemma4", R"({"hidden_size_per_layer_input": 0, "use_bidirectional_attention": "vision"})",
      R"({"standardize": true, "use_clipped_linears": true})");
  ASSERT_TRUE(other) << other.error().str();
  EXPECT_TRUE(other->vision->tower.clips);
  EXPECT_EQ(other->vision->names.shift, "std_bias");
  EXPECT_FALSE(other->vision->images.stepToken);
  EXPECT_TRUE(other->vision->images.seesAhead && other->vision->images.onlyInWindows);
  EXPECT_TRUE(failsWith(gemma4("gemma4", "{}", R"({"num_key_value_heads": 4})"), "INGOT-E1057",
                        {"num_key_value_heads"}));
  EXPECT_TRUE(failsWith(gemma4("gemma4", "{}", R"({"head_dim": 70})"), "INGOT-E1051", {"70"}));
  EXPECT_TRUE(failsWith(gemma4("gemma4", "{}", R"({"hidden_activation": "silu"})"), "INGOT-E1053",
                        {"silu"}));
  EXPECT_TRUE(failsWith(gemma4("gemma4", "{}", R"({"rope_parameters": {"rope_type": "yarn"}})"),
                        "INGOT-E1052", {"yarn"}));
  EXPECT_TRUE(
      failsWith(gemma4("gemma4", "{}", R"({"use_gates": true})"), "INGOT-E1057", {"use_gates"}));
}

TEST(VisionPlan, UnifiedGemma4HasNone) {
  auto config = gemma4("gemma4_unified", "{}",
                       R"({"mm_embed_dim": 80, "output_proj_dims": 80, "model_patch_size": 48,
                           "num_soft_tokens": 280})");
  ASSERT_TRUE(config) << config.error().str();
  const VisionPlan &plan = *config->vision;
  EXPECT_EQ(plan.tower.layers, 0u);
  EXPECT_EQ(plan.patchesPerRow(), 1u);
  EXPECT_EQ(plan.patchSide(), 48u);
  EXPECT_EQ(plan.images.mean[0], 0);
  EXPECT_TRUE(plan.images.seesAhead); // what an absent key means there
  auto without = gemma4("gemma4_unified", R"({"use_bidirectional_attention": false})", "{}");
  ASSERT_TRUE(without) << without.error().str();
  EXPECT_FALSE(without->vision->images.seesAhead);
  EXPECT_TRUE(failsWith(gemma4("gemma4_unified", "{}", R"({"output_proj_dims": 80})"),
                        "INGOT-E1051", {"3840"}));
  EXPECT_TRUE(failsWith(gemma4("gemma4_unified", "{}", R"({"model_patch_size": 32})"),
                        "INGOT-E1051", {"48"}));
  EXPECT_TRUE(failsWith(gemma4("gemma4_unified", "{}", R"({"patch_size": 64,
                               "pooling_kernel_size": 8})"),
                        "INGOT-E1051", {"512"}));
}

TEST(VisionPlan, Gemma4HasANumberOfTokens) {
  auto config = gemma4("gemma4", "{}", R"({"position_embedding_size": 1680})");
  ASSERT_TRUE(config) << config.error().str();
  VisionPlan plan = *config->vision;
  ASSERT_TRUE(readSettings(*config, R"({"do_normalize": false, "image_mean": [0, 0, 0],
    "image_std": [1, 1, 1], "max_soft_tokens": 560, "pooling_kernel_size": 3, "size": null,
    "image_seq_length": 280})",
                           plan));
  EXPECT_EQ(plan.mostRows(), 560u);
  EXPECT_EQ(plan.images.mean[0], 0.5f); // of 2x - 1
  EXPECT_EQ(plan.images.filter, ResizeFilter::Bicubic);
  VisionPlan absent = *config->vision;
  ASSERT_TRUE(readSettings(*config, "{}", absent));
  EXPECT_EQ(absent.mostRows(), 280u);
  for (const char *text :
       {R"({"max_soft_tokens": 300})", R"({"max_soft_tokens": 1120})", R"({"do_normalize": true})",
        R"({"pooling_kernel_size": 2})", R"({"patch_size": 14})", R"({"crops": 3})"}) {
    VisionPlan other = *config->vision;
    EXPECT_FALSE(readSettings(*config, text, other)) << text;
  }
}
