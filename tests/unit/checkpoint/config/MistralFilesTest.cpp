// SPDX-License-Identifier: Apache-2.0
// params.json and the names beside it.
#include "compiler/checkpoint/config/MistralFiles.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"

#include <nlohmann/json.hpp>

using namespace ingot::checkpoint;
using namespace ingot::test;

static Expected<ModelConfig> paramsWith(std::string_view changes) {
  auto json = nlohmann::json::parse(R"({"dim": 64, "n_layers": 2, "head_dim": 16, "hidden_dim": 96,
    "n_heads": 4, "n_kv_heads": 2, "norm_eps": 1e-5, "vocab_size": 100})");
  json.merge_patch(nlohmann::json::parse(changes));
  return parseMistralParams(json.dump(), "params.json");
}

TEST(MistralFiles, ReadsWhatIsComputed) {
  auto config = paramsWith("{}");
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->architecture, "MistralForCausalLM");
  EXPECT_EQ(config->hiddenSize, 64u);
  EXPECT_EQ(mlpOf(*config).innerSize, 96u);
  EXPECT_EQ(attentionOf(*config).headDim, 16u);
  EXPECT_EQ(config->ropes[0].theta, 1e6);
  EXPECT_EQ(attentionOf(*config).slidingWindow, 0u);
  EXPECT_TRUE(attentionOf(*config).ropeInterleaved);
  EXPECT_FALSE(config->firstExperts() || config->tiedEmbeddings);
  auto sliding =
      paramsWith(R"({"sliding_window": 32, "max_seq_len": 64, "tied_embeddings": true})");
  ASSERT_TRUE(succeeds(sliding));
  EXPECT_EQ(sliding->ropes[0].theta, 1e4);
  EXPECT_EQ(sliding->maxPositions, 64u);
  EXPECT_TRUE(slides(*sliding, 0) && sliding->tiedEmbeddings);
  auto mixture = paramsWith(R"({"moe": {"num_experts": 8, "num_experts_per_tok": 2}})");
  ASSERT_TRUE(succeeds(mixture));
  EXPECT_EQ(mixture->architecture, "MixtralForCausalLM");
  EXPECT_EQ(mixture->firstExperts()->count, 8u);
  EXPECT_EQ(mixture->firstExperts()->innerSize, 96u);
}

TEST(MistralFiles, RefusesWhatItCannotCompute) {
  EXPECT_TRUE(failsWith(paramsWith(R"({"lora": {}})"), "INGOT-E1057", {"lora"}));
  EXPECT_TRUE(failsWith(paramsWith(R"({"model_type": "mamba"})"), "INGOT-E1057", {"model_type"}));
  EXPECT_TRUE(failsWith(paramsWith(R"({"n_heads": 3})"), "INGOT-E1051", {"n_kv_heads"}));
  EXPECT_TRUE(failsWith(paramsWith(R"({"dim": null})"), "INGOT-E1005", {"dim"}));
  EXPECT_TRUE(failsWith(paramsWith(R"({"moe": {"num_experts": 2, "num_experts_per_tok": 3}})"),
                        "INGOT-E1006", {"num_experts_per_tok"}));
  EXPECT_TRUE(failsWith(parseMistralParams("[]", "params.json"), "INGOT-E1004", {}));
}

TEST(MistralFiles, NamesAreThoseOfModels) {
  EXPECT_EQ(modelNameOfMistral("tok_embeddings.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(modelNameOfMistral("layers.12.attention.wq.weight"),
            "model.layers.12.self_attn.q_proj.weight");
  EXPECT_EQ(modelNameOfMistral("layers.0.feed_forward.experts.7.w2.weight"),
            "model.layers.0.block_sparse_moe.experts.7.w2.weight");
  EXPECT_EQ(modelNameOfMistral("layers.0.feed_forward.gate.weight"),
            "model.layers.0.block_sparse_moe.gate.weight");
  for (const char *name : {"", "layers.", "layers.x.attention.wq.weight", "layers.1", "layers.1.",
                           "layers.1.weight", "layers.1.attention.wq", "vision.weight"})
    EXPECT_FALSE(modelNameOfMistral(name)) << name;
}
