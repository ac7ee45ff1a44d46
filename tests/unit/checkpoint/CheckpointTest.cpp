// SPDX-License-Identifier: Apache-2.0
// Checkpoint: single files, shards, tied embeddings, aliases, and every refusal.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/files/ShardIndex.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"

#include <vector>

using namespace ingot::checkpoint;
using namespace ingot::test;

/// A configuration; `more` adds keys, each with a comma before it.
static std::string configText(std::string_view more = "") {
  return message(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4,
    "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 8)",
                 more, "}");
}

/// A safetensors file in which each name is a tensor of four bytes that repeat its last letter.
static std::string weights(const std::vector<std::string> &names, std::string_view metadata = "") {
  std::string json(metadata), data;
  for (const std::string &name : names) {
    json += message(json.empty() ? "" : ",", "\"", name,
                    R"(": {"dtype": "U8", "shape": [4], "data_offsets": [)", data.size(), ", ",
                    data.size() + 4, "]}");
    data += std::string(4, name.back());
  }
  return safetensorsFile("{" + json + "}", data);
}

static std::string bytesOf(const Checkpoint &checkpoint, std::string_view name) {
  const Tensor *tensor = checkpoint.find(name);
  if (!tensor)
    return "absent";
  std::string out(tensor->bytes, '\0');
  EXPECT_TRUE(succeeds(checkpoint.read(*tensor, 0, std::as_writable_bytes(std::span(out)))));
  return out;
}

TEST(Checkpoint, ReadsASingleFile) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("generation_config.json", R"({"eos_token_id": [5, 6]})");
  directory.write("model.safetensors", weights({"y", "x"}));
  auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(checkpoint));
  ASSERT_EQ(checkpoint->tensors().size(), 2u);
  EXPECT_EQ(checkpoint->tensors()[0].name, "x");
  EXPECT_EQ(bytesOf(*checkpoint, "x"), "xxxx");
  EXPECT_EQ(bytesOf(*checkpoint, "y"), "yyyy");
  EXPECT_EQ(checkpoint->eosIds(), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(checkpoint->inputs(), (std::vector{directory.path() / "config.json",
                                               directory.path() / "generation_config.json",
                                               directory.path() / "model.safetensors"}));
  std::filesystem::remove(directory.path() / "generation_config.json");
  EXPECT_EQ(Checkpoint::open(directory.path())->eosIds(), std::vector<uint64_t>{2});
}

TEST(Checkpoint, ReadsShards) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("s2.safetensors", weights({"b", "d"}));
  directory.write("s1.safetensors", weights({"a", "c"}));
  directory.write("model.safetensors.index.json", R"({"metadata": {"total_size": 16}, "weight_map":
    {"a": "s1.safetensors", "b": "s2.safetensors",
     "c": "s1.safetensors", "d": "s2.safetensors"}})");
  auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(checkpoint));
  for (std::string_view name : {"a", "b", "c", "d"})
    EXPECT_EQ(bytesOf(*checkpoint, name), std::string(4, name[0]));
  EXPECT_EQ(checkpoint->inputs().size(), 4u);
  EXPECT_EQ(checkpoint->inputs()[2].filename(), "s1.safetensors");
}

TEST(Checkpoint, RefusesBadShards) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("s1.safetensors", weights({"a"}));
  directory.write("s2.safetensors", weights({"b"}));
  auto open = [&](std::string_view map) {
    directory.write("model.safetensors.index.json", message("{\"weight_map\": ", map, "}"));
    return Checkpoint::open(directory.path());
  };
  EXPECT_TRUE(succeeds(open(R"({"a": "s1.safetensors", "b": "s2.safetensors"})")));
  for (std::string_view name : {"../s1.safetensors", "/s1.safetensors", "d\\\\s.safetensors", "..",
                                "", ".safetensors", "s1.bin", "s\\u0000.safetensors"})
    EXPECT_TRUE(
        failsWith(open(message("{\"a\": \"", name, "\"}")), "INGOT-E1032", {"weight_map.a"}))
        << name;
  EXPECT_TRUE(failsWith(open(R"({"a": "s3.safetensors"})"), "INGOT-E1036", {"s3.safetensors"}));
  EXPECT_TRUE(failsWith(open(R"({"a": "s2.safetensors"})"), "INGOT-E1033", {"\"a\""}));
  EXPECT_TRUE(failsWith(open(R"({"a": "s1.safetensors", "b": "s1.safetensors"})"), "INGOT-E1033",
                        {"\"b\""}));
  EXPECT_TRUE(failsWith(open(R"({"a": 1})"), "INGOT-E1004"));
  EXPECT_TRUE(failsWith(open("[]"), "INGOT-E1004"));
  directory.write("s2.safetensors", weights({"b", "a"}));
  EXPECT_TRUE(failsWith(open(R"({"a": "s1.safetensors", "b": "s2.safetensors"})"), "INGOT-E1034",
                        {"\"a\"", "s1.safetensors", "s2.safetensors"}));
  EXPECT_TRUE(failsWith(ShardIndex::parse("{}", "i.json"), "INGOT-E1005", {"weight_map"}));
}

TEST(Checkpoint, ResolvesTiedEmbeddings) {
  TemporaryDirectory directory;
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  auto open = [&](std::string_view tied, const std::vector<std::string> &names) {
    directory.write("config.json", configText(message(R"(, "tie_word_embeddings": )", tied)));
    directory.write("model.safetensors", weights(names));
    return Checkpoint::open(directory.path());
  };
  for (const std::string &stored : {embedding, head}) {
    auto checkpoint = open("true", {stored});
    ASSERT_TRUE(succeeds(checkpoint));
    EXPECT_EQ(checkpoint->find(embedding), checkpoint->find(head));
    ASSERT_NE(checkpoint->find(head), nullptr);
    EXPECT_EQ(checkpoint->find(head)->name, stored);
  }
  auto both = open("true", {head, embedding});
  ASSERT_TRUE(succeeds(both));
  EXPECT_EQ(both->find(head)->name, embedding);
  EXPECT_TRUE(both->deviations().empty());
  std::string differing = weights({head, embedding});
  differing.back() = 'x';
  directory.write("model.safetensors", differing);
  auto apart = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(apart));
  EXPECT_EQ(bytesOf(*apart, head), "tttt");
  EXPECT_EQ(bytesOf(*apart, embedding), "tttx");
  ASSERT_EQ(apart->deviations().size(), 1u);
  EXPECT_EQ(apart->deviations()[0].what, "tie_word_embeddings");
  EXPECT_TRUE(apart->deviations()[0].isTold);
  auto untied = open("false", {embedding});
  ASSERT_TRUE(succeeds(untied));
  EXPECT_EQ(untied->find(head), nullptr);
  EXPECT_TRUE(failsWith(untied->get(head), "INGOT-E1038", {"tie_word_embeddings"}));
}

TEST(Checkpoint, ResolvesAliases) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("model.safetensors",
                  weights({"a", "b"}, R"("__metadata__": {"format": "pt", "other": "a", "b": "a",
                                         "chain": "other", "self": "self"})"));
  auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(checkpoint));
  EXPECT_EQ(bytesOf(*checkpoint, "other"), "aaaa");
  EXPECT_EQ(bytesOf(*checkpoint, "b"), "bbbb"); // a stored tensor comes before an alias
  EXPECT_EQ(checkpoint->find("chain"), nullptr);
  EXPECT_EQ(checkpoint->find("self"), nullptr);
  EXPECT_EQ(checkpoint->find("format"), nullptr);
}

TEST(Checkpoint, NamesTheNearestTensor) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("model.safetensors", weights({"model.norm.weight", "model.layers.0.w"}));
  auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(checkpoint));
  EXPECT_TRUE(succeeds(checkpoint->get("model.norm.weight")));
  EXPECT_TRUE(failsWith(checkpoint->get("model.norms.weight"), "INGOT-E1038",
                        {"did you mean \"model.norm.weight\""}));
}

TEST(Checkpoint, ReadsInsideATensorOnly) {
  TemporaryDirectory directory;
  directory.write("config.json", configText());
  directory.write("model.safetensors", weights({"a", "b"}));
  auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(succeeds(checkpoint));
  const Tensor *tensor = checkpoint->find("a");
  std::vector<std::byte> two(2);
  EXPECT_TRUE(succeeds(checkpoint->read(*tensor, 2, two)));
  EXPECT_EQ(two[1], std::byte{'a'});
  EXPECT_TRUE(failsWith(checkpoint->read(*tensor, 3, two), "INGOT-E1039", {"\"a\""}));
  EXPECT_TRUE(failsWith(checkpoint->read(*tensor, UINT64_MAX, two), "INGOT-E1039"));
}

TEST(Checkpoint, SaysWhatElseAPathIs) {
  TemporaryDirectory directory;
  auto refused = [&](std::initializer_list<std::string_view> mentions) {
    return failsWith(Checkpoint::open(directory.path()), "INGOT-E1030", mentions);
  };
  const std::filesystem::path &root = directory.path();
  std::filesystem::create_directories(root / "snapshots/abc");
  EXPECT_TRUE(refused({"cache", "download"}));
  directory.write("snapshots/abc/config.json", configText());
  EXPECT_TRUE(refused({"snapshots/abc"}));
  std::filesystem::create_directories(root / "snapshots/def");
  std::filesystem::create_directories(root / "refs");
  directory.write("snapshots/def/config.json", configText());
  for (const std::string name : {"def", "abc"}) {
    directory.write("refs/main", name + "\n");
    EXPECT_TRUE(refused({"give", "snapshots/" + name}));
  }
  directory.write("adapter_config.json", "{}");
  EXPECT_TRUE(refused({"adapter", "--lora"}));
  EXPECT_TRUE(failsWith(Checkpoint::open("no-organisation/no-model"), "INGOT-E1030",
                        {"hf download no-organisation/no-model"}));
  for (const char *path : {"/no/model", "no/such/model", "model-that-is-not-there", "./model"})
    EXPECT_TRUE(failsWith(Checkpoint::open(path), "INGOT-E7001")) << path;
}

TEST(Checkpoint, RefusesDirectoriesWithoutSafetensors) {
  TemporaryDirectory directory;
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.path()), "INGOT-E7001", {"config.json"}));
  directory.write("config.json", configText());
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.path()), "INGOT-E1030"));
  directory.write("pytorch_model.bin", "x");
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.path()), "INGOT-E1031",
                        {"pytorch_model.bin", "pickle"}));
  directory.write("model.safetensors", weights({"a"}));
  EXPECT_TRUE(succeeds(Checkpoint::open(directory.path())));
  directory.write("generation_config.json", "[");
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.path()), "INGOT-E1001"));
}

TEST(Checkpoint, ReadsTheRealOnes) {
  INGOT_NEEDS_SHARED_DATA();
  for (std::string_view name : {"TinyStories-656K", "stories260K-hf", "TinyStories-656K-rot256"}) {
    auto checkpoint = Checkpoint::open(sharedData(name));
    ASSERT_TRUE(succeeds(checkpoint)) << name;
    for (std::string_view tensor : {"model.embed_tokens.weight", "lm_head.weight"}) {
      auto found = checkpoint->get(tensor);
      ASSERT_TRUE(succeeds(found)) << name;
      EXPECT_EQ((*found)->shape,
                (std::vector{checkpoint->config().vocabSize, checkpoint->config().hiddenSize}));
    }
  }
  auto rotated = Checkpoint::open(sharedData("TinyStories-656K-rot256"));
  EXPECT_EQ(attentionOf(rotated->config()).headDim, 16u);
  EXPECT_EQ(attentionOf(rotated->config()).heads, 16u);
  EXPECT_NE(rotated->find("lm_head.weight"), rotated->find("model.embed_tokens.weight"));
}
