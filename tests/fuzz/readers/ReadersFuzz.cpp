// SPDX-License-Identifier: Apache-2.0
// The readers of checkpoints, recipes and tuning lockfiles under mutated input.
#include "compiler/checkpoint/config/MistralFiles.h"
#include "compiler/checkpoint/files/ShardIndex.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/tuning/TuningLock.h"
#include "tests/fuzz/FuzzSession.h"
#include "tests/fuzz/readers/ReaderCases.h"

using namespace ingot::fuzz;
using namespace ingot::test;
using ingot::recipe::Recipe;

TEST(ReadersFuzz, SafetensorsHeaders) {
  FuzzSession session("safetensors_headers", 1);
  session.mutator.setWords(safetensorsWords);
  session.run(4000, safetensorsHeaders, [&](const std::string &json) -> std::string {
    // Most headers describe 17 bytes of data, one describes none.
    uint64_t fileBytes = 8 + json.size() + (session.mutator.below(4) ? 17 : 0);
    return tryHeader(json, fileBytes);
  });
  session.check();
}

TEST(ReadersFuzz, SafetensorsFiles) {
  TemporaryDirectory directory;
  std::vector<std::string> corpus = {safetensorsFile(safetensorsHeaders[0])};
  for (size_t i = 1; i < safetensorsHeaders.size(); ++i)
    corpus.push_back(safetensorsFile(safetensorsHeaders[i], "0123456789abcdefg"));
  FuzzSession session("safetensors_files", 2);
  session.run(2500, corpus, [&](const std::string &bytes) {
    return trySafetensors(directory.write("f", bytes));
  });
  session.check();
}

TEST(ReadersFuzz, GgufFiles) {
  TemporaryDirectory directory;
  FuzzSession session("gguf_files", 8);
  session.mutator.setWords({"GGUF", std::string(8, '\0'), std::string(8, '\xff')});
  session.run(4000, {smallGguf(), GgufWriter(2).boolean("b", true).str()},
              [&](const std::string &bytes) { return tryGguf(directory.write("f.gguf", bytes)); });
  session.check();
}

TEST(ReadersFuzz, ModelConfigs) {
  FuzzSession session("model_configs", 3);
  session.mutator.setWords(modelConfigWords);
  session.run(3000, modelConfigs, tryModelConfig);
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
                checkLayers(*config);
                return "";
              });
  session.check();
}

TEST(ReadersFuzz, QuantizationConfigs) {
  FuzzSession session("quantization_configs", 12);
  std::vector<std::string> words = {"null", "true", "-1", "{}", "\"strategy\":\"group\"", "[", "]"};
  for (const std::string &name : formatNames())
    words.push_back(inQuotes(name));
  session.mutator.setWords(words);
  session.run(4000, quantizationConfigs, tryQuantizationConfig);
  session.check();
}

TEST(ReadersFuzz, GgufModels) {
  TemporaryDirectory directory;
  FuzzSession session("gguf_models", 9);
  session.mutator.setWords(ggufWords);
  session.run(4000, ggufModels(), [&](const std::string &bytes) {
    return tryModelFile(directory.write("f.gguf", bytes));
  });
  session.check();
}

TEST(ReadersFuzz, GenerationConfigs) {
  FuzzSession session("generation_configs", 4);
  session.run(1000, generationConfigs, tryGenerationConfig);
  session.check();
}

// Whole directories: a mutated index beside good shards, with a name outside that must not be read.
TEST(ReadersFuzz, ShardIndexes) {
  TemporaryDirectory directory;
  directory.write("config.json", modelConfigs[0]);
  directory.write("s1.safetensors", safetensorsFile(safetensorsHeaders[1], "0123456789abcdefg"));
  directory.write("s2.safetensors", safetensorsFile(safetensorsHeaders[2], "0123456789abcdefg"));
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
  directory.write("config.json", modelConfigs[0]);
  directory.write("model.safetensors", safetensorsFile(safetensorsHeaders[1], "0123456789abcdefg"));
  const std::string tensors =
      R"({"base_model.model.lm_head.lora_A.weight":{"dtype":"F32","shape":[1,2],)"
      R"("data_offsets":[0,8]},"base_model.model.lm_head.lora_B.weight":{"dtype":"F32",)"
      R"("shape":[2,1],"data_offsets":[8,16]}})";
  const std::string good = R"({"peft_type": "LORA", "r": 1, "lora_alpha": 8, "bias": "none",
      "use_rslora": false, "modules_to_save": null, "alpha_pattern": {".*head": 4},
      "rank_pattern": {"lm_head": 1}, "use_dora": false})";
  FuzzSession session("adapters", 10);
  session.mutator.setWords({"lora_A", "lora_embedding_A", ".weight", "\"bias\": \"all\",", "null",
                            "(?:", ".*)*", "[^.]+"});
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
activations: {compute: int8-dynamic, store: bf16, group: 64}
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
