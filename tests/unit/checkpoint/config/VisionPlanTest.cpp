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
