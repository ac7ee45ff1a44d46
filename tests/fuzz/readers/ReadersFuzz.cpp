// SPDX-License-Identifier: Apache-2.0
// The readers of checkpoints, recipes and tuning lockfiles under mutated input.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/Gguf.h"
#include "compiler/checkpoint/MistralFiles.h"
#include "compiler/checkpoint/ShardIndex.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/tuning/TuningLock.h"
#include "tests/fuzz/FuzzSession.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/GgufFixtures.h"

using namespace ingot::checkpoint;
using namespace ingot::test;
using ingot::fuzz::FuzzSession;
using ingot::recipe::Recipe;

static const std::vector<std::string> headers = {
    "{}      ",
    R"({"__metadata__":{"format":"pt","other":"a"},"a":{"dtype":"F32","shape":[2,2],)"
    R"("data_offsets":[0,16]},"b":{"dtype":"U8","shape":[],"data_offsets":[16,17]}})",
    R"({"x":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]},)"
    R"("z":{"dtype":"F4","shape":[0,3],"data_offsets":[16,16]},)"
    R"("y":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[16,17]}})",
};

/// What a safetensors reader promises about every header it accepts.
static void checkHeader(const SafetensorsHeader &header, uint64_t fileBytes) {
  uint64_t end = header.tensors.empty() ? fileBytes : header.tensors.front().offset;
  for (const Tensor &tensor : header.tensors) {
    EXPECT_EQ(tensor.offset, end);
    ASSERT_LE(tensor.bytes, fileBytes - tensor.offset);
    end = tensor.offset + tensor.bytes;
    EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
  }
  EXPECT_EQ(end, fileBytes);
}

TEST(ReadersFuzz, SafetensorsHeaders) {
  FuzzSession session("safetensors_headers", 1);
  session.mutator.setWords({"\"a\":", "\"dtype\"", "\"shape\":[", "\"F6_E2M3\"", "[0,0]", "{}",
                            "__metadata__", ",", "18446744073709551615,"});
  session.run(4000, headers, [&](const std::string &json) -> std::string {
    // Most headers describe 17 bytes of data, one describes none.
    uint64_t fileBytes = 8 + json.size() + (session.mutator.below(4) ? 17 : 0);
    auto header = parseSafetensors(json, fileBytes, "f");
    if (!header)
      return header.error().code;
    checkHeader(*header, fileBytes);
    return "";
  });
  session.check();
}

TEST(ReadersFuzz, SafetensorsFiles) {
  TemporaryDirectory directory;
  std::vector<std::string> corpus = {safetensorsFile(headers[0])};
  for (size_t i = 1; i < headers.size(); ++i)
    corpus.push_back(safetensorsFile(headers[i], "0123456789abcdefg"));
  FuzzSession session("safetensors_files", 2);
  session.run(2500, corpus, [&](const std::string &bytes) -> std::string {
    auto file = File::open(directory.write("f", bytes));
    if (!file)
      return file.error().code;
    auto header = readSafetensors(*file);
    if (!header)
      return header.error().code;
    checkHeader(*header, bytes.size());
    return "";
  });
  session.check();
}

static std::string smallGguf() {
  return GgufWriter()
      .u32("general.alignment", 32)
      .string("general.architecture", "llama")
      .strings("tokens", {"a", "bc"})
      .key("nested", 9, GgufWriter::array(9, 1, GgufWriter::array(1, 2, "ab")))
      .tensor("t", 0, {2, 2}, "0123456789abcdef")
      .tensor("q", 2, {32, 1}, "0123456789abcdefgh")
      .str();
}

TEST(ReadersFuzz, GgufFiles) {
  TemporaryDirectory directory;
  FuzzSession session("gguf_files", 8);
  session.mutator.setWords({"GGUF", std::string(8, '\0'), std::string(8, '\xff')});
  session.run(4000, {smallGguf(), GgufWriter(2).boolean("b", true).str()},
              [&](const std::string &bytes) -> std::string {
                auto model = openGguf(directory.write("f.gguf", bytes));
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
                  EXPECT_LE(end, bytes.size());
                  EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
                }
                return "";
              });
  session.check();
}

static const std::vector<std::string> configs = {
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

TEST(ReadersFuzz, ModelConfigs) {
  FuzzSession session("model_configs", 3);
  session.mutator.setWords({"\"rope_scaling\":", "\"type\":\"linear\",", "\"head_dim\": 1,", "null",
                            "\"eos_token_id\":[],", "{\"quant_method\":\"gptq\"}", "true,"});
  session.run(3000, configs, [](const std::string &text) -> std::string {
    auto config = ModelConfig::parse(text, "config.json");
    if (!config)
      return config.error().code;
    EXPECT_EQ(config->heads % config->kvHeads, 0u);
    EXPECT_EQ(config->headDim % 2, 0u);
    EXPECT_GT(config->headDim, 0u);
    EXPECT_GE(config->rope.factor, 1.0);
    EXPECT_GT(config->rmsNormEpsilon, 0.0);
    if (!config->slidingLayers.empty())
      EXPECT_EQ(config->slidingLayers.size(), config->layers);
    EXPECT_GE(config->attentionSoftcap, 0.0);
    EXPECT_GE(config->logitsSoftcap, 0.0);
    EXPECT_GT(config->attentionMultiplier.value_or(1), 0.0);
    for (uint64_t id : config->eosIds)
      EXPECT_LT(id, config->vocabSize);
    return "";
  });
  session.check();
}

TEST(ReadersFuzz, MistralParams) {
  FuzzSession session("mistral_params", 14);
  session.mutator.setWords({"\"moe\":", "\"n_heads\":", "null", "{}", "0", "4294967296"});
  session.run(1500,
              {R"({"dim": 8, "n_layers": 2, "head_dim": 4, "hidden_dim": 12, "n_heads": 2,
                   "n_kv_heads": 1, "norm_eps": 1e-5, "vocab_size": 16, "sliding_window": 4})",
               R"({"dim": 8, "n_layers": 2, "head_dim": 4, "hidden_dim": 12, "n_heads": 2,
                   "n_kv_heads": 2, "norm_eps": 1e-5, "vocab_size": 16,
                   "moe": {"num_experts": 4, "num_experts_per_tok": 2}})"},
              [](const std::string &text) -> std::string {
                auto config = parseMistralParams(text, "params.json");
                if (!config)
                  return config.error().code;
                EXPECT_EQ(config->heads % config->kvHeads, 0u);
                EXPECT_TRUE(!config->experts ||
                            config->experts->perToken <= config->experts->count);
                return "";
              });
  session.check();
}

TEST(ReadersFuzz, QuantizationConfigs) {
  FuzzSession session("quantization_configs", 12);
  std::vector<std::string> words = {"null", "true", "-1", "{}", "\"strategy\":\"group\"", "[", "]"};
  for (const StoredFormat &format : storedFormats())
    for (std::string_view name : {format.method, format.packings[0]})
      words.push_back(inQuotes(name));
  session.mutator.setWords(words);
  session.run(
      4000,
      {R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64,
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
       R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})"},
      [](const std::string &text) -> std::string {
        auto root = Json::parse(text, "config.json");
        if (!root)
          return root.error().code;
        std::vector<std::filesystem::path> inputs;
        auto config = QuantizationConfig::read(*root, "/nonexistent", inputs);
        if (!config)
          return config.error().code;
        EXPECT_TRUE(inputs.empty());
        EXPECT_LE(config->bits.value_or(0), 8u);
        EXPECT_EQ(config->method == QuantizationConfig::Method::Awq,
                  config->packing != FormatReader::None);
        return "";
      });
  session.check();
}

/// A model of one layer in a GGUF file, with the keys that config.json's settings have there.
static std::string ggufModel(std::string_view architecture) {
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
static std::string ggufExperts(std::string_view architecture) {
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

TEST(ReadersFuzz, GgufModels) {
  TemporaryDirectory directory;
  FuzzSession session("gguf_models", 9);
  session.mutator.setWords(
      {"llama", "qwen2", "yarn", std::string(4, '\0'), std::string("\1\0\0\0", 4)});
  session.run(4000,
              {ggufModel("llama"), ggufModel("qwen2"), ggufModel("gemma3"), ggufModel("phi3"),
               ggufExperts("llama"), ggufExperts("qwen2moe"), ggufExperts("gpt-oss")},
              [&](const std::string &bytes) -> std::string {
                auto checkpoint = Checkpoint::open(directory.write("f.gguf", bytes));
                if (!checkpoint)
                  return checkpoint.error().code;
                const ModelConfig &config = checkpoint->config();
                EXPECT_EQ(config.heads % config.kvHeads, 0u);
                EXPECT_EQ(config.headDim % 2, 0u);
                EXPECT_GT(config.headDim, 0u);
                EXPECT_GE(config.rope.factor, 1.0);
                EXPECT_GT(config.rmsNormEpsilon, 0.0);
                if (!config.rope.divisors.empty())
                  EXPECT_EQ(config.rope.divisors.size(), config.rotaryPairs());
                for (float divisor : config.rope.divisors)
                  EXPECT_GT(divisor, 0.0f);
                for (uint64_t id : checkpoint->eosIds())
                  EXPECT_LT(id, config.vocabSize);
                if (config.experts)
                  EXPECT_LE(config.experts->perToken, config.experts->count);
                for (const Tensor &tensor : checkpoint->tensors()) {
                  EXPECT_EQ(storedBytes(tensor.dtype, tensor.shape), tensor.bytes);
                  std::vector<std::byte> read(tensor.bytes);
                  EXPECT_TRUE(succeeds(checkpoint->read(tensor, 0, read)));
                }
                return "";
              });
  session.check();
}

TEST(ReadersFuzz, GenerationConfigs) {
  FuzzSession session("generation_configs", 4);
  session.run(1000,
              {R"({"eos_token_id": [7, 8], "bos_token_id": 1, "pad_token_id": -1, "top_k": 50,
                   "do_sample": true, "temperature": 0.6, "top_p": 0.9, "min_p": 0.05})",
               R"({"eos_token_id": 2, "repetition_penalty": 1.1})"},
              [](const std::string &text) -> std::string {
                auto config = GenerationConfig::parse(text, "generation_config.json", 100);
                if (!config)
                  return config.error().code;
                EXPECT_LE(config->topP.value_or(0), 1.0);
                EXPECT_GE(config->temperature.value_or(0), 0.0);
                for (uint64_t id : config->eosIds.value_or(std::vector<uint64_t>{}))
                  EXPECT_LT(id, 100u);
                return "";
              });
  session.check();
}

// Whole directories: a mutated index beside good shards, with a name outside that must not be read.
TEST(ReadersFuzz, ShardIndexes) {
  TemporaryDirectory directory;
  directory.write("config.json", configs[0]);
  directory.write("s1.safetensors", safetensorsFile(headers[1], "0123456789abcdefg"));
  directory.write("s2.safetensors", safetensorsFile(headers[2], "0123456789abcdefg"));
  FuzzSession session("shard_indexes", 5);
  session.mutator.setWords({"../", "/", "s1.safetensors", "\"lm_head.weight\":", "..", "\\u0000"});
  session.run(1500,
              {R"({"metadata": {"total_size": 34}, "weight_map": {"a": "s1.safetensors",
                   "b": "s1.safetensors", "x": "s2.safetensors", "y": "s2.safetensors"}})",
               R"({"weight_map": {"a": "s1.safetensors", "b": "s1.safetensors"}})"},
              [&](const std::string &text) -> std::string {
                directory.write("model.safetensors.index.json", text);
                auto checkpoint = Checkpoint::open(directory.path());
                if (!checkpoint)
                  return checkpoint.error().code;
                for (const auto &input : checkpoint->inputs())
                  EXPECT_EQ(input.parent_path(), directory.path());
                for (const Tensor &tensor : checkpoint->tensors()) {
                  std::vector<std::byte> bytes(tensor.bytes);
                  EXPECT_TRUE(succeeds(checkpoint->read(tensor, 0, bytes)));
                }
                return "";
              });
  session.check();
}

/// An adapter, its configuration before a zero byte and the header of its tensors behind.
TEST(ReadersFuzz, Adapters) {
  TemporaryDirectory directory;
  directory.write("config.json", configs[0]);
  directory.write("model.safetensors", safetensorsFile(headers[1], "0123456789abcdefg"));
  const std::string tensors =
      R"({"base_model.model.lm_head.lora_A.weight":{"dtype":"F32","shape":[1,2],)"
      R"("data_offsets":[0,8]},"base_model.model.lm_head.lora_B.weight":{"dtype":"F32",)"
      R"("shape":[2,1],"data_offsets":[8,16]}})";
  const std::string good = R"({"peft_type": "LORA", "r": 1, "lora_alpha": 8, "bias": "none",
      "use_rslora": false, "modules_to_save": null, "alpha_pattern": {}, "use_dora": false})";
  FuzzSession session("adapters", 10);
  session.mutator.setWords({"lora_A", "lora_embedding_A", ".weight", "\"bias\": \"all\",", "null"});
  session.run(2000, {good + '\0' + tensors}, [&](const std::string &text) -> std::string {
    size_t border = std::min(text.find('\0'), text.size());
    directory.write("adapter_config.json", text.substr(0, border));
    directory.write(
        "adapter_model.safetensors",
        safetensorsFile(text.substr(std::min(border + 1, text.size())), "0123456789abcdef"));
    auto checkpoint = Checkpoint::open(directory.path());
    EXPECT_TRUE(succeeds(checkpoint));
    if (auto added = checkpoint->addAdapter(directory.path(), 1); !added)
      return added.error().code;
    EXPECT_TRUE(checkpoint->adapter());
    for (const Tensor &tensor : checkpoint->tensors()) {
      std::vector<std::byte> bytes(tensor.bytes);
      EXPECT_TRUE(succeeds(checkpoint->read(tensor, 0, bytes)));
    }
    return "";
  });
  session.check();
}

TEST(ReadersFuzz, Llama2c) {
  TemporaryDirectory directory;
  auto words = [](std::initializer_list<int32_t> numbers) {
    std::string bytes;
    for (int32_t number : numbers)
      bytes += GgufWriter::number(number);
    return bytes;
  };
  // One layer of 4, three tokens; then what the vocabulary's file holds.
  constexpr size_t floats = 3 * 4 + 3 * 4 + 4 * 16 + 3 * 24 + 4 * 2;
  const std::string model = words({4, 6, 1, 2, 2, 3, 4}) + std::string(4 * floats, '\1');
  const std::string tokens = words({3, 0, 3}) + "abc" + words({0, 1}) + "d" + words({0, 0});
  FuzzSession session("llama2c", 11);
  session.run(2000, {model + tokens}, [&](const std::string &bytes) -> std::string {
    auto file = directory.write("model.bin", bytes.substr(0, std::min(model.size(), bytes.size())));
    directory.write("tokenizer.bin", bytes.substr(std::min(model.size(), bytes.size())));
    auto checkpoint = Checkpoint::open(file);
    if (!checkpoint)
      return checkpoint.error().code;
    for (const Tensor &tensor : checkpoint->tensors()) {
      std::vector<std::byte> read(tensor.bytes);
      EXPECT_TRUE(succeeds(checkpoint->read(tensor, 0, read)));
    }
    return "";
  });
  session.check();
}

TEST(ReadersFuzz, Recipes) {
  FuzzSession session("recipes", 6);
  session.mutator.setWords({"- ", "? ", "&a ", "*a", "!!map", "---\n", "...\n", "<<: ", "| ", "> ",
                            "\n  ", "{", "}", "int8-dynamic", "group: channel\n", "%TAG ! !\n",
                            "\"", "\xef\xbb\xbf", "\xff\xfe"});
  session.run(4000,
              {R"(version: 1
weights:
  - match: "lm_head*"   # a comment
    format: bf16
  - match: "model.layers.?.mlp.*"
    format: int4
    group: 64
    zero_points: false
  - {match: "*", format: fp8, scale: tensor}
activations: {compute: int8-dynamic, store: bf16}
kv_cache: e4m3
)",
               "version: 1\nactivations: bf16\nkv_cache: f16\n",
               "version: 1\nweights: [{match: 'a', format: int8}, {match: \"b\", format: f32}]\n"},
              [](const std::string &text) -> std::string {
                auto recipe = Recipe::parse(text, "recipe.yaml");
                if (!recipe)
                  return recipe.error().code;
                auto again = Recipe::parse(recipe->str(), "again.yaml");
                EXPECT_TRUE(succeeds(again)) << recipe->str();
                if (again)
                  EXPECT_EQ(*again, *recipe);
                return "";
              });
  session.check();
}

TEST(ReadersFuzz, TuningLocks) {
  using ingot::tuning::TuningLock;
  FuzzSession session("tuning_locks", 7);
  session.mutator.setWords({"ingot-tuning 1\n", "#", "\n", " ", "1-9", "-", "\r\n", "\t",
                            "18446744073709551616", "0123456789abcdef", "matmul 8 8 a x "});
  session.run(4000,
              {"# measured\ningot-tuning 1\n"
               "matmul 768 256 bf16*i4.64 sm_90a 1-8 T:8x1x1x1,d128,s6,k 0123456789abcdef # 3 us\n"
               "matmul 768 256 bf16*i4.64 sm_90a 9-64 T:4x2x2x4,d64,s4 fedcba9876543210\n",
               "ingot-tuning 1\n"},
              [](const std::string &text) -> std::string {
                auto lock = TuningLock::parse(text, "tuning.lock");
                if (!lock)
                  return lock.error().code;
                auto again = TuningLock::parse(lock->str(), "again.lock");
                EXPECT_TRUE(succeeds(again)) << lock->str();
                if (again)
                  EXPECT_EQ(*again, *lock);
                return "";
              });
  session.check();
}
