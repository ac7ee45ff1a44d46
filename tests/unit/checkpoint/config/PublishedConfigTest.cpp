// SPDX-License-Identifier: Apache-2.0
// The keys and numbers of published config.json files: each is accepted, and none is left unread.
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/SmallConfig.h"

#include <algorithm>
#include <array>

using namespace ingot::checkpoint;
using namespace ingot::test;
using Keys = nlohmann::json;

namespace {

/// `count` layers of type `other`, but for those in `full`.
Keys layerTypes(uint64_t count, const std::string &other, const std::vector<uint64_t> &full) {
  Keys types = Keys::array();
  for (uint64_t layer = 0; layer < count; ++layer)
    types.push_back(std::ranges::count(full, layer) ? "full_attention" : other);
  return types;
}

/// The last of every `period` layers.
std::vector<uint64_t> every(uint64_t period, uint64_t count) {
  std::vector<uint64_t> layers;
  for (uint64_t layer = period - 1; layer < count; layer += period)
    layers.push_back(layer);
  return layers;
}

Keys merged(Keys base, const Keys &changes) {
  base.update(changes);
  return base;
}

ModelConfig read(const Keys &config) {
  auto model = parseModelConfig(config.dump(), "config.json");
  EXPECT_TRUE(succeeds(model)) << config.dump();
  for (const Deviation &deviation : model->deviations)
    EXPECT_NE(deviation.effective, "not read") << deviation.stated;
  return *model;
}

const std::vector<uint64_t> sixAttend = {2, 5, 8, 10, 12, 14};

/// As the first releases of LFM2 have it.
Keys lfm2(uint64_t hidden, uint64_t inner, uint64_t heads) {
  return {{"architectures", {"Lfm2ForCausalLM"}},
          {"block_auto_adjust_ff_dim", true},
          {"block_dim", hidden},
          {"block_ff_dim", inner},
          {"block_ffn_dim_multiplier", 1.0},
          {"block_mlp_init_scale", 1.0},
          {"block_multiple_of", 256},
          {"block_norm_eps", 1e-5},
          {"block_out_init_scale", 1.0},
          {"block_use_swiglu", true},
          {"block_use_xavier_init", true},
          {"bos_token_id", 1},
          {"conv_L_cache", 3},
          {"conv_bias", false},
          {"conv_dim", hidden},
          {"conv_dim_out", hidden},
          {"conv_use_xavier_init", true},
          {"eos_token_id", 7},
          {"full_attn_idxs", sixAttend},
          {"hidden_size", hidden},
          {"initializer_range", 0.02},
          {"max_position_embeddings", 128000},
          {"model_type", "lfm2"},
          {"norm_eps", 1e-5},
          {"num_attention_heads", heads},
          {"num_heads", heads},
          {"num_hidden_layers", 16},
          {"num_key_value_heads", 8},
          {"pad_token_id", 0},
          {"rope_theta", 1e6},
          {"torch_dtype", "bfloat16"},
          {"transformers_version", "4.54.0"},
          {"use_cache", true},
          {"use_pos_enc", true},
          {"vocab_size", 65536}};
}

/// As those of LFM2.5 and later ones of LFM2 have it.
Keys lfm25(uint64_t hidden, uint64_t inner, uint64_t heads) {
  Keys config = lfm2(hidden, inner, heads);
  config.erase("full_attn_idxs");
  return merged(config, {{"intermediate_size", inner},
                         {"tie_embedding", true},
                         {"layer_types", layerTypes(16, "conv", sixAttend)},
                         {"rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "default"}}}});
}

Keys lfm2Moe(uint64_t layers, const std::vector<uint64_t> &full, uint64_t experts) {
  return {{"architectures", {"Lfm2MoeForCausalLM"}},
          {"bos_token_id", 1},
          {"conv_L_cache", 3},
          {"conv_bias", false},
          {"dtype", "bfloat16"},
          {"eos_token_id", 7},
          {"hidden_size", 2048},
          {"initializer_range", 0.02},
          {"intermediate_size", 7168},
          {"layer_types", layerTypes(layers, "conv", full)},
          {"max_position_embeddings", 128000},
          {"model_type", "lfm2_moe"},
          {"moe_intermediate_size", 1792},
          {"norm_eps", 1e-5},
          {"norm_topk_prob", true},
          {"num_attention_heads", 32},
          {"num_dense_layers", 2},
          {"num_experts", experts},
          {"num_experts_per_tok", 4},
          {"num_hidden_layers", layers},
          {"num_key_value_heads", 8},
          {"pad_token_id", 0},
          {"rope_theta", 1e6},
          {"routed_scaling_factor", 1.0},
          {"tie_embedding", true},
          {"transformers_version", "4.57.0"},
          {"use_cache", true},
          {"use_expert_bias", true},
          {"vocab_size", 65536}};
}

/// The text part of Qwen3.5, Qwen3.6 and Qwen3.8.
Keys qwenText(uint64_t hidden, uint64_t layers, const Keys &changes) {
  return merged({{"attention_bias", false},
                 {"attention_dropout", 0.0},
                 {"attn_output_gate", true},
                 {"bos_token_id", nullptr},
                 {"dtype", "bfloat16"},
                 {"eos_token_id", 248044},
                 {"full_attention_interval", 4},
                 {"head_dim", 256},
                 {"hidden_act", "silu"},
                 {"hidden_size", hidden},
                 {"initializer_range", 0.02},
                 {"layer_types", layerTypes(layers, "linear_attention", every(4, layers))},
                 {"linear_conv_kernel_dim", 4},
                 {"linear_key_head_dim", 128},
                 {"linear_num_key_heads", 16},
                 {"linear_num_value_heads", 48},
                 {"linear_value_head_dim", 128},
                 {"mamba_ssm_dtype", "float32"},
                 {"max_position_embeddings", 262144},
                 {"mtp_num_hidden_layers", 1},
                 {"mtp_use_dedicated_embeddings", false},
                 {"num_attention_heads", 24},
                 {"num_hidden_layers", layers},
                 {"num_key_value_heads", 4},
                 {"pad_token_id", nullptr},
                 {"partial_rotary_factor", 0.25},
                 {"rms_norm_eps", 1e-6},
                 {"rope_parameters",
                  {{"mrope_interleaved", true},
                   {"mrope_section", {11, 11, 10}},
                   {"partial_rotary_factor", 0.25},
                   {"rope_theta", 1e7},
                   {"rope_type", "default"}}},
                 {"tie_word_embeddings", false},
                 {"use_cache", true},
                 {"vocab_size", 248320}},
                changes);
}

Keys qwen(const std::string &kind, const Keys &text) {
  return {{"architectures", {"Qwen3_5" + kind + "ForConditionalGeneration"}},
          {"image_token_id", 248056},
          {"language_model_only", false},
          {"model_type", kind.empty() ? "qwen3_5" : "qwen3_5_moe"},
          {"text_config", text},
          {"tie_word_embeddings", false},
          {"transformers_version", "4.57.1"},
          {"video_token_id", 248057},
          {"vision_config", {{"depth", 27}}},
          {"vision_end_token_id", 248054},
          {"vision_start_token_id", 248053}};
}

} // namespace

TEST(PublishedConfig, Lfm2) {
  for (const auto &[hidden, inner, heads, wanted] : {std::array<uint64_t, 4>{1024, 6656, 16, 4608},
                                                     {1536, 10240, 24, 6912},
                                                     {2048, 12288, 32, 8192}})
    for (const Keys &config : {lfm2(hidden, inner, heads), lfm25(hidden, inner, heads)}) {
      const ModelConfig model = read(config);
      ASSERT_EQ(model.layers.size(), 16u);
      EXPECT_EQ(mlpOf(model).innerSize, wanted);
      EXPECT_EQ(attentionOf(model, 2).headDim, 64u);
      EXPECT_TRUE(model.tiedEmbeddings);
    }
  EXPECT_EQ(
      mlpOf(read(merged(lfm25(2048, 10752, 32), {{"block_auto_adjust_ff_dim", false}}))).innerSize,
      10752u);
  EXPECT_FALSE(read(merged(lfm25(1024, 6656, 16), {{"tie_embedding", false}})).tiedEmbeddings);
}

TEST(PublishedConfig, Lfm2Moe) {
  read(lfm2Moe(24, {2, 6, 10, 14, 18, 21}, 32));
  read(lfm2Moe(40, every(4, 40), 64));
  const ModelConfig model =
      read(merged(lfm2Moe(24, {2, 6, 10, 14, 18, 21}, 32),
                  {{"vocab_size", 124928},
                   {"rope_theta", 5e6},
                   {"norm_eps", 1e-6},
                   {"rope_parameters", {{"rope_theta", 5e6}, {"rope_type", "default"}}}}));
  EXPECT_EQ(model.ropes[0].theta, 5e6);
}

TEST(PublishedConfig, Qwen35To38) {
  const Keys dense = {{"model_type", "qwen3_5_text"},
                      {"intermediate_size", 17408},
                      {"mlp_only_layers", Keys::array()},
                      {"output_gate_type", "swish"}};
  const Keys experts = {{"model_type", "qwen3_5_moe_text"},
                        {"num_experts", 256},
                        {"num_experts_per_tok", 8},
                        {"moe_intermediate_size", 512},
                        {"shared_expert_intermediate_size", 512},
                        {"router_aux_loss_coef", 0.001},
                        {"output_router_logits", false}};
  EXPECT_EQ(read(qwen("", qwenText(5120, 64, dense))).ropes[0].theta, 1e7);
  read(qwen("Moe", qwenText(2048, 40, experts)));
  read(merged(qwenText(8192, 92,
                       merged(experts, {{"num_experts", 512},
                                        {"num_experts_per_tok", 10},
                                        {"linear_num_value_heads", 128}})),
              {{"architectures", {"Qwen3_5MoeForCausalLM"}}, {"transformers_version", "5.8.0"}}));
  // As its model card stretches it to a million positions.
  const ModelConfig stretched =
      read(qwen("", qwenText(5120, 64,
                             merged(dense, {{"rope_parameters",
                                             {{"mrope_interleaved", true},
                                              {"mrope_section", {11, 11, 10}},
                                              {"rope_type", "yarn"},
                                              {"rope_theta", 1e7},
                                              {"partial_rotary_factor", 0.25},
                                              {"factor", 4.0},
                                              {"original_max_position_embeddings", 262144}}}}))));
  EXPECT_TRUE(stretched.ropes[0].type == RopeType::Yarn);
  EXPECT_EQ(stretched.ropes[0].factor, 4.0);
}
