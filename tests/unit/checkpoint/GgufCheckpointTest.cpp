// SPDX-License-Identifier: Apache-2.0
// A GGUF file as a checkpoint: names, configuration, stop tokens, and what is refused.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/GgufNames.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/GgufFixtures.h"

#include <cmath>
#include <functional>

using namespace ingot::checkpoint;
using namespace ingot::test;

/// The metadata of a small model of `architecture`, but for keys in `without`.
static GgufWriter metadataOf(std::string_view architecture,
                             std::initializer_list<std::string_view> without = {}) {
  GgufWriter writer;
  auto key = [&](std::string_view name, auto value) {
    if (std::find(without.begin(), without.end(), name) == without.end())
      writer.key(message(architecture, ".", name), std::is_same_v<decltype(value), float> ? 6 : 4,
                 GgufWriter::number(value));
  };
  writer.string("general.architecture", architecture);
  key("context_length", 64u);
  key("embedding_length", 8u);
  key("block_count", 2u);
  key("feed_forward_length", 12u);
  key("vocab_size", 4u);
  key("attention.head_count", 2u);
  key("attention.head_count_kv", 1u);
  key("attention.layer_norm_rms_epsilon", 1e-5f);
  return writer;
}

static Expected<Checkpoint> open(const GgufWriter &writer) {
  TemporaryDirectory directory;
  return Checkpoint::open(directory.write("m.gguf", writer.str()));
}

/// A model of `architecture` to whose metadata `add` adds.
static Expected<Checkpoint> openWith(const std::function<void(GgufWriter &)> &add,
                                     std::string_view architecture = "llama",
                                     std::initializer_list<std::string_view> without = {}) {
  GgufWriter writer = metadataOf(architecture, without);
  add(writer);
  return open(writer);
}

static const std::string four(16, '\0'); ///< four f32 elements

TEST(GgufNames, AreTranslatedBothWays) {
  for (auto [gguf, model] : {
           std::pair("token_embd.weight", "model.embed_tokens.weight"),
           {"output_norm.weight", "model.norm.weight"},
           {"output.weight", "lm_head.weight"},
           {"blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight"},
           {"blk.12.attn_q.weight", "model.layers.12.self_attn.q_proj.weight"},
           {"blk.12.attn_k.bias", "model.layers.12.self_attn.k_proj.bias"},
           {"blk.12.attn_v.bias", "model.layers.12.self_attn.v_proj.bias"},
           {"blk.3.attn_output.weight", "model.layers.3.self_attn.o_proj.weight"},
           {"blk.3.ffn_norm.weight", "model.layers.3.post_attention_layernorm.weight"},
           {"blk.3.ffn_gate.weight", "model.layers.3.mlp.gate_proj.weight"},
           {"blk.3.ffn_up.weight", "model.layers.3.mlp.up_proj.weight"},
           {"blk.3.ffn_down.weight", "model.layers.3.mlp.down_proj.weight"},
       }) {
    EXPECT_EQ(modelNameOf(gguf, LayerNorms::Inputs), model);
    EXPECT_EQ(ggufNameOf(model, LayerNorms::Inputs), gguf);
  }
  for (auto [gguf, norms, model] : {
           std::tuple("ffn_norm", LayerNorms::Both, "pre_feedforward_layernorm"),
           {"post_attention_norm", LayerNorms::Both, "post_attention_layernorm"},
           {"post_attention_norm", LayerNorms::Results, "post_attention_layernorm"},
           {"post_ffw_norm", LayerNorms::Results, "post_feedforward_layernorm"},
           {"attn_q_norm", LayerNorms::Results, "self_attn.q_norm"},
       }) {
    std::string inFile = message("blk.1.", gguf, ".weight"),
                inModel = message("model.layers.1.", model, ".weight");
    EXPECT_EQ(modelNameOf(inFile, norms), inModel);
    EXPECT_EQ(ggufNameOf(inModel, norms), inFile);
  }
  EXPECT_EQ(modelNameOf("blk.1.ffn_norm.weight", LayerNorms::Results), std::nullopt);
  for (std::string_view unknown :
       {"", ".weight", "blk.", "blk..attn_q.weight", "blk.1attn_q.weight", "blk.1.weight", "blk.1",
        "blk.x.attn_q.weight", "attn_q.weight", "token_embd", "token_embd.scale",
        "blk.0.post_ffw_norm.weight", "rope_freqs.weight"})
    EXPECT_EQ(modelNameOf(unknown, LayerNorms::Inputs), std::nullopt) << unknown;
}

TEST(GgufCheckpoint, ReadsConfigurationAndTensors) {
  TemporaryDirectory directory;
  GgufWriter writer = metadataOf("llama");
  writer.f32("llama.rope.freq_base", 5e5f).u32("llama.rope.dimension_count", 4);
  writer.tensor("token_embd.weight", 0, {8, 4}, std::string(128, 'e'));
  writer.tensor("blk.1.ffn_up.weight", 1, {2, 2}, "01234567");
  writer.tensor("blk.0.attn_q.bias", 0, {4}, four);
  const auto path = directory.write("m.gguf", writer.str());
  auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(succeeds(checkpoint));
  const ModelConfig &config = checkpoint->config();
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.hiddenSize, 8u);
  EXPECT_EQ(config.intermediateSize, 12u);
  EXPECT_EQ(config.layers, 2u);
  EXPECT_EQ(config.heads, 2u);
  EXPECT_EQ(config.kvHeads, 1u);
  EXPECT_EQ(config.headDim, 4u);
  EXPECT_EQ(config.vocabSize, 4u);
  EXPECT_EQ(config.maxPositions, 64u);
  EXPECT_EQ(config.rmsNormEpsilon, 1e-5f);
  EXPECT_EQ(config.rope, (Rope{.theta = 5e5}));
  EXPECT_TRUE(config.rotaryPairRows);
  EXPECT_TRUE(config.tiedEmbeddings);
  EXPECT_TRUE(config.attentionBias);
  EXPECT_FALSE(config.outputBias);
  EXPECT_FALSE(config.mlpBias);

  EXPECT_EQ(checkpoint->inputs(), std::vector{path});
  EXPECT_EQ(checkpoint->folder(), directory.path());
  EXPECT_TRUE(checkpoint->isComplete());
  auto up = checkpoint->get("model.layers.1.mlp.up_proj.weight");
  ASSERT_TRUE(succeeds(up));
  EXPECT_EQ((*up)->dtype, DType::F16);
  EXPECT_EQ(checkpoint->fileName(**up), "m.gguf");
  std::string bytes(8, '\0');
  EXPECT_TRUE(succeeds(checkpoint->read(**up, 0, std::as_writable_bytes(std::span(bytes)))));
  EXPECT_EQ(bytes, "01234567");
  EXPECT_EQ(checkpoint->find("lm_head.weight"), checkpoint->find("model.embed_tokens.weight"));
  EXPECT_EQ(checkpoint->shownName("model.layers.1.mlp.up_proj.weight"), "blk.1.ffn_up.weight");
  EXPECT_TRUE(failsWith(checkpoint->get("model.layers.0.mlp.up_proj.weight"), "INGOT-E1038",
                        {"\"blk.0.ffn_up.weight\" is missing", "\"blk.1.ffn_up.weight\""}));
}

TEST(GgufCheckpoint, KnowsWhatTensorsAndListsDecide) {
  auto untied = openWith([](GgufWriter &writer) {
    writer.tensor("output.weight", 0, {4}, four).tensor("blk.0.ffn_down.bias", 0, {4}, four);
    writer.tensor("blk.0.attn_output.bias", 0, {4}, four);
  });
  ASSERT_TRUE(succeeds(untied));
  EXPECT_FALSE(untied->config().tiedEmbeddings);
  EXPECT_FALSE(untied->config().attentionBias);
  EXPECT_TRUE(untied->config().outputBias);
  EXPECT_TRUE(untied->config().mlpBias);
  EXPECT_EQ(untied->find("model.embed_tokens.weight"), nullptr);

  auto qwen =
      openWith([](GgufWriter &writer) { writer.strings("tokenizer.ggml.tokens", {"a", "b", "c"}); },
               "qwen2", {"vocab_size", "attention.head_count_kv"});
  ASSERT_TRUE(succeeds(qwen));
  EXPECT_EQ(qwen->config().architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(qwen->config().vocabSize, 3u);
  EXPECT_EQ(qwen->config().kvHeads, 2u);
  EXPECT_TRUE(qwen->config().attentionBias);
  EXPECT_FALSE(qwen->config().rotaryPairRows);
}

TEST(GgufCheckpoint, ReadsListsWithOneNumberForEachLayer) {
  auto list = [](const std::vector<int32_t> &heads) {
    return openWith(
        [&](GgufWriter &writer) { writer.numbers("llama.attention.head_count_kv", heads); },
        "llama", {"attention.head_count_kv"});
  };
  auto same = list({2, 2});
  ASSERT_TRUE(succeeds(same));
  EXPECT_EQ(same->config().kvHeads, 2u);
  for (const auto &bad : {std::vector<int32_t>{1, 2}, {1}, {1, 1, 1}, {}})
    EXPECT_TRUE(failsWith(list(bad), "INGOT-E1114", {"head_count_kv", "layers differ"}));
  EXPECT_TRUE(failsWith(list({-1, -1}), "INGOT-E1006"));
}

TEST(GgufCheckpoint, ReadsRotaryScaling) {
  auto rope = [](std::string_view type, float factor, std::string_view key = "factor") {
    auto checkpoint = openWith([&](GgufWriter &writer) {
      if (!type.empty())
        writer.string("llama.rope.scaling.type", type);
      if (factor >= 0)
        writer.f32(message("llama.rope.", key == "factor" ? "scaling.factor" : key), factor);
    });
    return checkpoint ? Expected<Rope>(checkpoint->config().rope) : checkpoint.error();
  };
  const Rope plain, linear{.type = RopeType::Linear, .factor = 4};
  EXPECT_EQ(*rope("", -1), plain);
  EXPECT_EQ(*rope("none", 4), plain);
  EXPECT_EQ(*rope("linear", 0), plain);
  EXPECT_EQ(*rope("linear", 1), plain);
  EXPECT_EQ(*rope("linear", 4), linear);
  EXPECT_EQ(*rope("", 4), linear);
  EXPECT_EQ(*rope("", 4, "scale_linear"), linear);
  EXPECT_TRUE(failsWith(rope("yarn", 4), "INGOT-E1052", {"\"yarn\"", "rope.scaling.type"}));
  EXPECT_TRUE(failsWith(rope("longrope", 4), "INGOT-E1052"));
  EXPECT_TRUE(failsWith(rope("linear", 0.5f), "INGOT-E1006"));
}

TEST(GgufCheckpoint, TakesRotaryDivisors) {
  auto divided = [](uint32_t type, const std::vector<uint64_t> &dims, float second) {
    return openWith([&](GgufWriter &writer) {
      writer.tensor("rope_freqs.weight", type, dims,
                    GgufWriter::number(1.0f) + GgufWriter::number(second) + four);
    });
  };
  auto good = divided(0, {2}, 8);
  ASSERT_TRUE(succeeds(good));
  EXPECT_EQ(good->config().rope.divisors, (std::vector<float>{1, 8}));
  EXPECT_TRUE(good->tensors().empty());
  EXPECT_TRUE(failsWith(divided(1, {2}, 8), "INGOT-E1115", {"rope_freqs.weight"}));
  EXPECT_TRUE(failsWith(divided(0, {4}, 8), "INGOT-E1115", {"2 numbers"}));
  for (float bad : {0.0f, -1.0f, INFINITY, NAN})
    EXPECT_TRUE(failsWith(divided(0, {2}, bad), "INGOT-E1115")) << bad;
}

TEST(GgufCheckpoint, RefusesWhatItDoesNotUnderstand) {
  EXPECT_TRUE(failsWith(open(GgufWriter()), "INGOT-E1005", {"general.architecture"}));
  EXPECT_TRUE(failsWith(open(GgufWriter().string("general.architecture", "phi3")), "INGOT-E1113",
                        {"\"phi3\"", "llama, olmo2, qwen2"}));
  for (std::string_view key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length",
        "attention.head_count", "vocab_size", "attention.layer_norm_rms_epsilon"})
    EXPECT_TRUE(failsWith(openWith([](GgufWriter &) {}, "llama", {key}), "INGOT-E1005", {key}));
  auto with = [](std::string_view key, uint32_t value,
                 std::initializer_list<std::string_view> without = {}) {
    return openWith([&](GgufWriter &writer) { writer.u32(message("llama.", key), value); }, "llama",
                    without);
  };
  EXPECT_TRUE(failsWith(openWith([](GgufWriter &writer) {
                          writer.strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e"});
                        }),
                        "INGOT-E1117", {"5 tokens"}));
  EXPECT_TRUE(succeeds(with("expert_count", 0)));
  EXPECT_TRUE(failsWith(with("expert_count", 8), "INGOT-E1114", {"expert_count"}));
  EXPECT_TRUE(failsWith(with("attention.sliding_window", 4096), "INGOT-E1114"));
  EXPECT_TRUE(failsWith(with("attention.new_idea", 1), "INGOT-E1114", {"not known"}));
  EXPECT_TRUE(failsWith(with("rope.dimension_count", 2), "INGOT-E1114", {"part of each head"}));
  EXPECT_TRUE(failsWith(with("attention.value_length", 2), "INGOT-E1114"));
  EXPECT_TRUE(failsWith(with("attention.key_length", 3), "INGOT-E1051", {"pairs"}));
  EXPECT_TRUE(failsWith(with("attention.head_count", 3, {"attention.head_count"}), "INGOT-E1051",
                        {"do not divide"}));
  EXPECT_TRUE(failsWith(with("embedding_length", 0, {"embedding_length"}), "INGOT-E1006"));
  EXPECT_TRUE(
      failsWith(openWith([](GgufWriter &writer) { writer.string("llama.block_count", "2"); },
                         "llama", {"block_count"}),
                "INGOT-E1004", {"block_count"}));
}

TEST(GgufCheckpoint, CollectsTokensThatEndAText) {
  auto generation = [](const std::function<void(GgufWriter &)> &add) {
    auto checkpoint = openWith(
        [&](GgufWriter &writer) {
          writer.strings("tokenizer.ggml.tokens",
                         {"<|im_end|>", "<|end|>", "<|eot_id|>", "d", "<|endoftext|>"});
          writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 3, 3, 1, 3});
          add(writer);
        },
        "llama", {"vocab_size"});
    return checkpoint ? Expected<GenerationConfig>(checkpoint->generation()) : checkpoint.error();
  };
  auto some = generation([](GgufWriter &writer) {
    writer.u32("tokenizer.ggml.eos_token_id", 3).u32("tokenizer.ggml.eot_token_id", 2);
    writer.u32("tokenizer.ggml.eom_token_id", 2).u32("tokenizer.ggml.bos_token_id", 1);
    writer.u32("tokenizer.ggml.padding_token_id", 4294967295u);
  });
  ASSERT_TRUE(succeeds(some));
  EXPECT_EQ(some->eosIds, (std::vector<uint64_t>{3, 2, 1, 4}));
  EXPECT_EQ(some->bosId, 1u);
  EXPECT_EQ(some->padId, std::nullopt);
  EXPECT_TRUE(failsWith(
      generation([](GgufWriter &writer) { writer.u32("tokenizer.ggml.eos_token_id", 5); }),
      "INGOT-E1006", {"eos_token_id"}));
}

TEST(GgufCheckpoint, RefusesOtherFilesByTheirKind) {
  TemporaryDirectory directory;
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.write("pytorch_model.bin", "x")), "INGOT-E1031",
                        {"pickle", "pytorch_model.bin"}));
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.write("model.pt", "x")), "INGOT-E1031"));
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.write("model.safetensors", "x")), "INGOT-E1030",
                        {"directory"}));
  const auto gguf = directory.write("m.gguf", metadataOf("llama").str());
  EXPECT_TRUE(failsWith(Checkpoint::open(directory.path()), "INGOT-E1030", {"m.gguf"}));
  EXPECT_TRUE(failsWith(Checkpoint::openWithoutWeights(gguf), "INGOT-E1119"));
}

TEST(GgufCheckpoint, ReadsTheRealOnesLikeTheirDirectories) {
  INGOT_NEEDS_SHARED_DATA();
  size_t compared = 0;
  for (const auto &entry : std::filesystem::directory_iterator(sharedData("gguf"))) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    auto gguf = Checkpoint::open(entry.path());
    ASSERT_TRUE(succeeds(gguf));
    auto directory =
        Checkpoint::open(sharedData(name.starts_with("Tiny")  ? "TinyStories-656K"
                                    : name.starts_with("rot") ? "TinyStories-656K-rot256"
                                                              : "stories260K-hf"));
    ASSERT_TRUE(succeeds(directory));
    const ModelConfig &ours = gguf->config(), &theirs = directory->config();
    EXPECT_EQ(ours.architecture, theirs.architecture);
    EXPECT_EQ(ours.hiddenSize, theirs.hiddenSize);
    EXPECT_EQ(ours.intermediateSize, theirs.intermediateSize);
    EXPECT_EQ(ours.layers, theirs.layers);
    EXPECT_EQ(ours.heads, theirs.heads);
    EXPECT_EQ(ours.kvHeads, theirs.kvHeads);
    EXPECT_EQ(ours.headDim, theirs.headDim);
    EXPECT_EQ(ours.vocabSize, theirs.vocabSize);
    EXPECT_FLOAT_EQ(static_cast<float>(ours.rmsNormEpsilon),
                    static_cast<float>(theirs.rmsNormEpsilon));
    EXPECT_EQ(ours.rope, theirs.rope);
    EXPECT_EQ(gguf->eosIds(), directory->eosIds());
    EXPECT_EQ(gguf->generation().bosId, directory->generation().bosId);
    for (const Tensor &tensor : gguf->tensors()) {
      auto same = directory->get(tensor.name);
      ASSERT_TRUE(succeeds(same));
      EXPECT_EQ(tensor.shape, (*same)->shape);
    }
    ++compared;
  }
  EXPECT_GE(compared, 16u);
}
