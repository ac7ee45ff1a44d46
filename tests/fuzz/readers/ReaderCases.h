// SPDX-License-Identifier: Apache-2.0
// Inputs of the readers of checkpoints, and what these promise about each input that they accept.
// The mutation sessions and the libFuzzer targets share them.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/config/ConfigReader.h"
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/gguf/Gguf.h"
#include "compiler/checkpoint/quantized/QuantizationReader.h"
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace ingot::fuzz {

using namespace checkpoint;
using test::GgufWriter;
using test::succeeds;

inline const std::vector<std::string> safetensorsHeaders = {
    "{}      ",
    R"({"__metadata__":{"format":"pt","other":"a"},"a":{"dtype":"F32","shape":[2,2],)"
    R"("data_offsets":[0,16]},"b":{"dtype":"U8","shape":[],"data_offsets":[16,17]}})",
    R"({"x":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]},)"
    R"("z":{"dtype":"F4","shape":[0,3],"data_offsets":[16,16]},)"
    R"("y":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[16,17]}})",
};

inline const std::vector<std::string> safetensorsWords = {
    "\"a\":", "\"dtype\"",    "\"shape\":[", "\"F6_E2M3\"",          "[0,0]",
    "{}",     "__metadata__", ",",           "18446744073709551615,"};

/// What a safetensors reader promises about every header it accepts.
inline void checkHeader(const SafetensorsHeader &header, uint64_t fileBytes) {
  uint64_t end = header.tensors.empty() ? fileBytes : header.tensors.front().offset;
  for (const Tensor &tensor : header.tensors) {
    EXPECT_EQ(tensor.offset, end);
    ASSERT_LE(tensor.bytes, fileBytes - tensor.offset);
    end = tensor.offset + tensor.bytes;
    EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
  }
  EXPECT_EQ(end, fileBytes);
}

/// Reads a header beside `fileBytes` - 8 - its size bytes of data. The code, or nothing.
inline std::string tryHeader(const std::string &json, uint64_t fileBytes) {
  auto header = parseSafetensors(json, fileBytes, "f");
  if (!header)
    return header.error().code;
  checkHeader(*header, fileBytes);
  return "";
}

inline std::string trySafetensors(const std::filesystem::path &path) {
  auto file = File::open(path);
  if (!file)
    return file.error().code;
  auto header = readSafetensors(*file);
  if (!header)
    return header.error().code;
  checkHeader(*header, file->size());
  return "";
}

inline std::string smallGguf() {
  return GgufWriter()
      .u32("general.alignment", 32)
      .string("general.architecture", "llama")
      .strings("tokens", {"a", "bc"})
      .key("nested", 9, GgufWriter::array(9, 1, GgufWriter::array(1, 2, "ab")))
      .tensor("t", 0, {2, 2}, "0123456789abcdef")
      .tensor("q", 2, {32, 1}, "0123456789abcdefgh")
      .str();
}

/// The container only.
inline std::string tryGguf(const std::filesystem::path &path) {
  auto model = openGguf(path);
  if (!model)
    return model.error().code;
  uint64_t end = 0;
  std::vector<Tensor> tensors = model->tensors;
  std::sort(tensors.begin(), tensors.end(), [](const Tensor &a, const Tensor &b) {
    return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
  });
  for (const Tensor &tensor : tensors) {
    EXPECT_GE(tensor.offset, end);
    end = tensor.offset + tensor.bytes;
    EXPECT_LE(end, std::filesystem::file_size(path));
    EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
  }
  return "";
}

/// A model of one layer in a GGUF file, with the keys that config.json's settings have there.
inline std::string ggufModel(std::string_view architecture) {
  GgufWriter writer;
  auto key = [&](std::string_view name) { return message(architecture, ".", name); };
  writer.string("general.architecture", architecture).u32(key("context_length"), 64);
  writer.u32(key("embedding_length"), 8).u32(key("block_count"), 1);
  writer.u32(key("feed_forward_length"), 12).u32(key("attention.head_count"), 2);
  writer.numbers(key("attention.head_count_kv"), std::vector<int32_t>{1});
  writer.f32(key("attention.layer_norm_rms_epsilon"), 1e-5f).f32(key("rope.freq_base"), 5e5f);
  writer.string(key("rope.scaling.type"), "linear").f32(key("rope.scaling.factor"), 4);
  writer.u32(key("expert_count"), 0).u32("tokenizer.ggml.eos_token_id", 2);
  writer.strings("tokenizer.ggml.tokens", {"a", "b", "<|end|>"});
  writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 3});
  writer.tensor("rope_freqs.weight", 0, {2}, GgufWriter::number(1.0f) + GgufWriter::number(8.0f));
  writer.tensor("blk.0.attn_q.bias", 0, {4}, "0123456789abcdef");
  return writer.str();
}

/// One of the families with experts, whose matrices are one tensor.
inline std::string ggufExperts(std::string_view architecture) {
  GgufWriter writer;
  auto key = [&](std::string_view name) { return message(architecture, ".", name); };
  writer.string("general.architecture", architecture).u32(key("context_length"), 64);
  writer.u32(key("embedding_length"), 8).u32(key("block_count"), 1).u32(key("vocab_size"), 4);
  writer.u32(key("feed_forward_length"), 12).u32(key("attention.head_count"), 2);
  writer.f32(key("attention.layer_norm_rms_epsilon"), 1e-5f).u32(key("expert_count"), 2);
  writer.u32(key("expert_used_count"), 1).u32(key("expert_feed_forward_length"), 4);
  if (architecture == "gpt-oss")
    writer.u32(key("attention.sliding_window"), 8);
  writer.tensor("blk.0.ffn_up_exps.weight", 0, {8, 1, 2},
                "0123456789abcdef0123456789abcdef"
                "0123456789abcdef0123456789abcdef");
  writer.tensor("blk.0.ffn_up.1.weight", 0, {4}, "0123456789abcdef");
  writer.tensor("blk.0.ffn_gate_inp_shexp.weight", 0, {4}, "0123456789abcdef");
  return writer.str();
}

inline std::vector<std::string> ggufModels() {
  return {ggufModel("llama"),   ggufModel("qwen2"),      ggufModel("gemma3"),   ggufModel("phi3"),
          ggufExperts("llama"), ggufExperts("qwen2moe"), ggufExperts("gpt-oss")};
}

inline const std::vector<std::string> ggufWords = {"llama", "qwen2", "yarn", std::string(4, '\0'),
                                                   std::string("\1\0\0\0", 4)};

inline void checkAttention(const ModelConfig &config, const Attention &attention) {
  EXPECT_EQ(attention.heads % attention.kvHeads, 0u);
  EXPECT_EQ(attention.headDim % 2, 0u);
  EXPECT_GT(attention.headDim, 0u);
  EXPECT_GE(attention.softcap, 0.0);
  EXPECT_GE(attention.scaling, 0.0);
  if (!attention.rope)
    return;
  const Rope &rope = config.ropes.at(*attention.rope);
  if (!rope.divisors.empty())
    EXPECT_EQ(rope.divisors.size(), rope.pairs(attention.headDim));
}

inline void checkLayers(const ModelConfig &config) {
  EXPECT_GT(config.normEpsilon, 0.0);
  for (const Rope &rope : config.ropes) {
    EXPECT_GE(rope.factor, 1.0);
    for (float divisor : rope.divisors)
      EXPECT_GT(divisor, 0.0f);
  }
  for (const LayerPlan &layer : config.layers) {
    if (const Attention *attention = layer.attention())
      checkAttention(config, *attention);
    if (const Experts *experts = layer.experts())
      EXPECT_LE(experts->perToken, experts->count);
  }
}

/// The checkpoint as a whole, its tensors' bytes included.
inline std::string tryModelFile(const std::filesystem::path &path) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return checkpoint.error().code;
  const ModelConfig &config = checkpoint->config();
  checkLayers(config);
  for (uint64_t id : checkpoint->eosIds())
    EXPECT_LT(id, config.vocabSize);
  for (const Tensor &tensor : checkpoint->tensors()) {
    EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
    std::vector<std::byte> read(tensor.bytes);
    EXPECT_TRUE(succeeds(checkpoint->read(tensor, 0, read)));
  }
  return "";
}

inline const std::vector<std::string> modelConfigs = {
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4, "intermediate_size": 4,
  "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "rope_scaling": null, "hidden_act": "silu",
  "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": [2, 3], "dtype": "float32"})",
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 172,
  "num_hidden_layers": 5, "num_attention_heads": 8, "head_dim": 16, "vocab_size": 512,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
  "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 172,
  "num_hidden_layers": 5, "num_attention_heads": 8, "vocab_size": 512,
  "rope_parameters": {"rope_type": "dynamic", "factor": 2, "rope_theta": 500000}})",
    R"({"architectures": ["Gemma3ForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 16, "sliding_window": 64,
  "layer_types": ["full_attention", "sliding_attention"], "final_logit_softcapping": 30.0,
  "query_pre_attn_scalar": 4, "rope_parameters": {"full_attention": {"rope_type": "linear",
  "factor": 8.0, "rope_theta": 1000000}, "sliding_attention": {"rope_theta": 10000}}})",
    R"({"architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 3, "num_attention_heads": 2, "vocab_size": 16, "num_experts": 4,
  "num_experts_per_tok": 2, "decoder_sparse_step": 2, "mlp_only_layers": [1],
  "shared_expert_intermediate_size": 8})",
    R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": 16, "num_local_experts": 4,
  "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "truncate": false,
  "original_max_position_embeddings": 4096}})",
    R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 16,
  "use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1})",
};

inline const std::vector<std::string> modelConfigWords = {"\"rope_scaling\":",
                                                          "\"type\":\"linear\",",
                                                          "\"head_dim\": 1,",
                                                          "null",
                                                          "\"eos_token_id\":[],",
                                                          "{\"quant_method\":\"gptq\"}",
                                                          "true,",
                                                          "NaN,",
                                                          "-Infinity"};

inline std::string tryModelConfig(const std::string &text) {
  auto config = parseModelConfig(text, "config.json");
  if (!config)
    return config.error().code;
  checkLayers(*config);
  EXPECT_GE(config->logitsSoftcap, 0.0);
  for (uint64_t id : config->eosIds)
    EXPECT_LT(id, config->vocabSize);
  return "";
}

inline const std::vector<std::string> quantizationConfigs = {
    R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64,
           "zero_point": true, "version": "gemv_fast", "backend": "autoawq"}})",
    R"({"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": -1,
           "sym": false, "checkpoint_format": "gptq_v2",
           "dynamic": {"-:.*mlp.*": {}, "a": {"bits": 2}}}})",
    R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "int-quantized",
           "kv_cache_scheme": null, "sparsity_config": {}, "config_groups": {"group_0": {
           "weights": {"num_bits": 8, "type": "int", "symmetric": false, "strategy": "channel"},
           "input_activations": {"num_bits": 8, "type": "int", "strategy": "token",
                                 "dynamic": true}}}}})",
    R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ",
           "group_size": 64, "kv_cache_quant_algo": "FP8"}})",
    R"({"quantization_config": {"quant_method": "torchao", "quant_type": {"default":
           {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 128}}}}})",
    R"({"quantization_config": {"quant_method": "torchao", "quant_type": {"default":
           {"_type": "Float8DynamicActivationFloat8WeightConfig", "_data": {"granularity":
           [{"_type": "PerRow", "_data": {}}], "activation_value_ub": 1.5}}}}})",
    R"({"quantization_config": {"quant_method": "auto-round", "bits": 4, "group_size": 128,
           "sym": true, "packing_format": "auto_round:auto_gptq", "act_bits": 16,
           "extra_config": {"a.b": {"bits": 8, "group_size": -1, "sym": false}}}})",
    R"({"quantization_config": {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}})",
    R"({"quantization_config": {"quant_method": "quark", "global_quant_config": {"weight":
           {"dtype": "int4", "qscheme": "per_group", "group_size": 128, "symmetric": false},
           "input_tensors": null, "output_tensors": null}, "layer_quant_config": {"*k_proj":
           {"output_tensors": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}},
           "algo_config": [{"name": "rotation", "r3": false}],
           "export": {"pack_method": "order"}}})",
    R"({"quantization_config": {"quant_method": "hqq", "quant_config": {"weight_quant_params":
           {"nbits": 4, "group_size": 64, "axis": 1}, "scale_quant_params": null}}})",
    R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})"};

/// Of methods, and the first that each format has.
inline std::vector<std::string> formatNames() {
  std::vector<std::string> names;
  for (const QuantizationMethod *method : methods::all) {
    names.emplace_back(method->names[0]);
    for (const StoredFormat &format : method->formats)
      names.emplace_back(format.packings[0]);
  }
  return names;
}

inline std::string tryQuantizationConfig(const std::string &text) {
  auto root = Json::parse(text, "config.json");
  if (!root)
    return root.error().code;
  std::vector<std::filesystem::path> inputs;
  auto config = readQuantization(*root, "/nonexistent", inputs);
  if (!config)
    return config.error().code;
  EXPECT_TRUE(inputs.empty());
  EXPECT_LE(config->bits.value_or(0), 8u);
  EXPECT_TRUE(config->method != "awq" || config->packing != FormatReader::None);
  return "";
}

inline const std::vector<std::string> generationConfigs = {
    R"({"eos_token_id": [7, 8], "bos_token_id": 1, "pad_token_id": -1, "top_k": 50,
                   "do_sample": true, "temperature": 0.6, "top_p": 0.9, "min_p": 0.05})",
    R"({"eos_token_id": 2, "repetition_penalty": 1.1})"};

inline std::string tryGenerationConfig(const std::string &text) {
  auto config = GenerationConfig::parse(text, "generation_config.json", 100);
  if (!config)
    return config.error().code;
  EXPECT_LE(config->topP.value_or(0), 1.0);
  EXPECT_GE(config->temperature.value_or(0), 0.0);
  for (uint64_t id : config->eosIds.value_or(std::vector<uint64_t>{}))
    EXPECT_LT(id, 100u);
  return "";
}

} // namespace ingot::fuzz
