// SPDX-License-Identifier: Apache-2.0
// A GGUF file as a checkpoint: names, configuration, stop tokens, and what is refused.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/checkpoint/gguf/GgufNames.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/checkpoint/gguf/SmallGguf.h"

#include <cmath>

using namespace ingot::checkpoint;
using namespace ingot::test;

static const std::string four(16, '\0'); ///< four f32 elements

static ModelConfig configWith(const std::function<void(ModelConfig &)> &change) {
  ModelConfig config(*Json::parse("{}", "m.gguf"));
  config.layers.resize(1);
  change(config);
  return config;
}

static const ModelConfig plain = configWith([](ModelConfig &) {});

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
    EXPECT_EQ(modelNameOf(gguf, plain), model);
    EXPECT_EQ(ggufNameOf(model, plain), gguf);
  }
  for (auto [gguf, norms, model] : {
           std::tuple("ffn_norm", NormPlacement::Sandwich, "pre_feedforward_layernorm"),
           {"post_attention_norm", NormPlacement::Sandwich, "post_attention_layernorm"},
           {"post_attention_norm", NormPlacement::Post, "post_attention_layernorm"},
           {"post_ffw_norm", NormPlacement::Post, "post_feedforward_layernorm"},
           {"attn_q_norm", NormPlacement::Post, "self_attn.q_norm"},
       }) {
    std::string inFile = message("blk.1.", gguf, ".weight"),
                inModel = message("model.layers.1.", model, ".weight");
    const ModelConfig config = configWith([&](ModelConfig &c) {
      c.layers[0].norms = norms;
      if (norms == NormPlacement::Sandwich)
        c.names.feedForwardNorm = "pre_feedforward_layernorm";
    });
    EXPECT_EQ(modelNameOf(inFile, config), inModel);
    EXPECT_EQ(ggufNameOf(inModel, config), inFile);
  }
  const ModelConfig results =
      configWith([](ModelConfig &config) { config.layers[0].norms = NormPlacement::Post; });
  EXPECT_EQ(modelNameOf("blk.1.ffn_norm.weight", results), std::nullopt);
  for (std::string_view unknown :
       {"", ".weight", "blk.", "blk..attn_q.weight", "blk.1attn_q.weight", "blk.1.weight", "blk.1",
        "blk.x.attn_q.weight", "attn_q.weight", "token_embd", "token_embd.scale",
        "blk.0.post_ffw_norm.weight", "rope_freqs.weight", "blk.0.attn_sinks.weight",
        "blk.0.attn_qkv.weight", "blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate.0.weight"})
    EXPECT_EQ(modelNameOf(unknown, plain), std::nullopt) << unknown;
}

TEST(GgufNames, DependOnHowAModelIsStored) {
  auto same = [](const ModelConfig &config, std::string_view gguf, std::string_view model) {
    const std::string inFile = message("blk.7.", gguf), inModel = message("model.layers.7.", model);
    EXPECT_EQ(modelNameOf(inFile, config), inModel);
    EXPECT_EQ(ggufNameOf(inModel, config), inFile);
  };
  const ModelConfig fused = configWith([](ModelConfig &config) {
    attentionOf(config).fusedQkv = true;
    config.layers[0].channelMixer = Mlp{.fusedGateUp = true};
  });
  same(fused, "attn_qkv.weight", "self_attn.qkv_proj.weight");
  same(fused, "ffn_up.weight", "mlp.gate_up_proj.weight");
  same(fused, "ffn_down.weight", "mlp.down_proj.weight");
  EXPECT_EQ(modelNameOf("blk.7.ffn_gate.weight", fused), std::nullopt);

  const ModelConfig experts =
      configWith([](ModelConfig &config) { config.layers[0].channelMixer = Experts(); });
  same(experts, "ffn_gate_inp.weight", "mlp.gate.weight");
  same(experts, "ffn_gate_inp_shexp.weight", "mlp.shared_experts_gate.weight");
  same(experts, "ffn_up_shexp.weight", "mlp.shared_experts.up_proj.weight");
  same(experts, "ffn_down_exps.bias", "mlp.experts.down_proj_bias");
  EXPECT_EQ(modelNameOf("blk.7.ffn_up.12.weight", experts),
            "model.layers.7.mlp.experts.12.up_proj.weight");
  EXPECT_EQ(ggufNameOf("model.layers.7.mlp.experts.12.up_proj.weight", experts),
            "blk.7.ffn_up_exps.weight");
  for (std::string_view unknown : {"blk.7.ffn_up.x.weight", "blk.7.ffn_up.1.bias", "blk.7.ffn_up."})
    EXPECT_EQ(modelNameOf(unknown, experts), std::nullopt) << unknown;

  const ModelConfig sinks = configWith([](ModelConfig &config) {
    attentionOf(config).sinks = true;
    config.names.ggufFeedForwardNorm = "post_attention_norm";
  });
  same(sinks, "attn_sinks.weight", "self_attn.sinks");
  same(sinks, "post_attention_norm.weight", "post_attention_layernorm.weight");
  EXPECT_EQ(modelNameOf("blk.7.attn_sinks.bias", sinks), std::nullopt);
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
  EXPECT_EQ(mlpOf(config).innerSize, 12u);
  EXPECT_EQ(config.layers.size(), 2u);
  EXPECT_EQ(attentionOf(config).heads, 2u);
  EXPECT_EQ(attentionOf(config).kvHeads, 1u);
  EXPECT_EQ(attentionOf(config).headDim, 4u);
  EXPECT_EQ(config.vocabSize, 4u);
  EXPECT_EQ(config.maxPositions, 64u);
  EXPECT_EQ(config.normEpsilon, 1e-5f);
  EXPECT_EQ(config.ropes[0], (Rope{.theta = 5e5}));
  EXPECT_TRUE(attentionOf(config).ropeInterleaved);
  EXPECT_TRUE(config.tiedEmbeddings);
  EXPECT_TRUE(attentionOf(config).bias);
  EXPECT_FALSE(attentionOf(config).outputBias);
  EXPECT_FALSE(mlpOf(config).bias);

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

TEST(GgufCheckpoint, TiesEqualCopies) {
  for (const bool same : {true, false}) {
    auto checkpoint = openWith([&](GgufWriter &writer) {
      writer.tensor("token_embd.weight", 1, {4}, "01234567");
      writer.tensor("output.weight", 1, {4}, same ? "01234567" : "0123456x");
    });
    ASSERT_TRUE(succeeds(checkpoint));
    EXPECT_EQ(checkpoint->config().tiedEmbeddings, same);
    EXPECT_EQ(checkpoint->find("lm_head.weight") == checkpoint->find("model.embed_tokens.weight"),
              same);
    EXPECT_TRUE(checkpoint->deviations().empty());
  }
}

TEST(GgufCheckpoint, TellsThatTokensAreNotSuppressed) {
  const std::vector<int32_t> tokens = {1, 2};
  auto checkpoint = openWith(
      [&](GgufWriter &writer) { writer.numbers("tokenizer.ggml.suppress_tokens", tokens); });
  ASSERT_TRUE(succeeds(checkpoint));
  ASSERT_EQ(checkpoint->deviations().size(), 1u);
  EXPECT_EQ(checkpoint->deviations()[0].what, "GGUF tokenizer.ggml.suppress_tokens");
  EXPECT_EQ(checkpoint->deviations()[0].stated, "[1,2]");
}

TEST(GgufCheckpoint, KnowsWhatTensorsAndListsDecide) {
  auto untied = openWith([](GgufWriter &writer) {
    writer.tensor("output.weight", 0, {4}, four).tensor("blk.0.ffn_down.bias", 0, {4}, four);
    writer.tensor("blk.0.attn_output.bias", 0, {4}, four);
  });
  ASSERT_TRUE(succeeds(untied));
  EXPECT_FALSE(untied->config().tiedEmbeddings);
  EXPECT_FALSE(attentionOf(untied->config()).bias);
  EXPECT_TRUE(attentionOf(untied->config()).outputBias);
  EXPECT_TRUE(mlpOf(untied->config()).bias);
  EXPECT_EQ(untied->find("model.embed_tokens.weight"), nullptr);

  auto qwen =
      openWith([](GgufWriter &writer) { writer.strings("tokenizer.ggml.tokens", {"a", "b", "c"}); },
               "qwen2", {"vocab_size", "attention.head_count_kv"});
  ASSERT_TRUE(succeeds(qwen));
  EXPECT_EQ(qwen->config().architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(qwen->config().vocabSize, 3u);
  EXPECT_EQ(attentionOf(qwen->config()).kvHeads, 2u);
  EXPECT_TRUE(attentionOf(qwen->config()).bias);
  EXPECT_FALSE(attentionOf(qwen->config()).ropeInterleaved);
}

TEST(GgufCheckpoint, ReadsListsWithOneNumberForEachLayer) {
  auto list = [](const std::vector<int32_t> &heads) {
    return openWith(
        [&](GgufWriter &writer) { writer.numbers("llama.attention.head_count_kv", heads); },
        "llama", {"attention.head_count_kv"});
  };
  auto same = list({2, 2});
  ASSERT_TRUE(succeeds(same));
  EXPECT_EQ(attentionOf(same->config()).kvHeads, 2u);
  for (const auto &bad : {std::vector<int32_t>{1, 2}, {1}, {1, 1, 1}, {}})
    EXPECT_TRUE(failsWith(list(bad), "INGOT-E1114", {"head_count_kv", "layers differ"}));
  EXPECT_TRUE(failsWith(list({-1, -1}), "INGOT-E1006"));
}

TEST(GgufCheckpoint, HasConvolutionsInLayersWithoutKvHeads) {
  auto lfm2 = [](const std::vector<int32_t> &heads, bool hasTaps = true) {
    return openWith(
        [&](GgufWriter &writer) {
          writer.numbers("lfm2.attention.head_count_kv", heads);
          if (hasTaps)
            writer.u32("lfm2.shortconv.l_cache", 3);
          writer.tensor("blk.0.shortconv.conv.weight", 0, {3, 8}, std::string(96, 'c'));
          writer.tensor("token_embd_norm.weight", 0, {8}, std::string(32, 'n'));
        },
        "lfm2", {"attention.head_count_kv"});
  };
  auto model = lfm2({0, 1});
  ASSERT_TRUE(succeeds(model));
  const ModelConfig &config = model->config();
  EXPECT_EQ(std::get<ShortConv>(config.layers[0].tokenMixer).taps, 3u);
  EXPECT_FALSE(std::get<ShortConv>(config.layers[0].tokenMixer).bias);
  EXPECT_EQ(config.layers[1].attention()->kvHeads, 1u);
  EXPECT_EQ(config.layers[1].attention()->queryKeyNorm, QueryKeyNorm::Heads);
  const Tensor *filters = model->find("model.layers.0.conv.conv.weight");
  ASSERT_NE(filters, nullptr);
  EXPECT_EQ(filters->shape, (std::vector<uint64_t>{8, 1, 3}));
  EXPECT_EQ(model->shownName(filters->name), "blk.0.shortconv.conv.weight");
  EXPECT_NE(model->find("model.embedding_norm.weight"), nullptr);

  EXPECT_TRUE(failsWith(lfm2({0, 1}, /*hasTaps=*/false), "INGOT-E1005", {"shortconv.l_cache"}));
  for (const auto &bad : {std::vector<int32_t>{0}, {0, 1, 1}})
    EXPECT_TRUE(failsWith(lfm2(bad), "INGOT-E1114", {"head_count_kv", "for 2 layers"}));
  EXPECT_TRUE(failsWith(lfm2({2, 1}), "INGOT-E1114", {"head_count_kv", "differ"}));
  EXPECT_TRUE(
      failsWith(openWith([](GgufWriter &writer) { writer.u32("lfm2.shortconv.l_cache", 3); },
                         "lfm2", {"attention.head_count_kv"}),
                "INGOT-E1005", {"head_count_kv"}));
}

/// A model of Gemma 4 with a layer that slides and a full one, but for keys in `without`.
static Expected<Checkpoint> openGemma4(std::initializer_list<std::string_view> without = {},
                                       const std::function<void(GgufWriter &)> &add = {}) {
  return openWith(
      [&](GgufWriter &writer) {
        const std::string prefix = "gemma4.";
        for (const auto &[key, value] : {std::pair("attention.key_length", 8u),
                                         {"attention.key_length_swa", 4},
                                         {"rope.dimension_count", 8},
                                         {"attention.sliding_window", 16},
                                         {"embedding_length_per_layer_input", 2}})
          if (std::ranges::find(without, key) == without.end())
            writer.u32(prefix + key, value);
        writer.f32(prefix + "rope.freq_base", 1e6f).f32(prefix + "rope.freq_base_swa", 1e4f);
        if (std::ranges::find(without, "pattern") == without.end())
          addFlags(writer, prefix + "attention.sliding_window_pattern", {true, false});
        if (std::ranges::find(without, "rope_freqs") == without.end())
          writer.tensor("rope_freqs.weight", 0, {4},
                        GgufWriter::number(1.0f) + GgufWriter::number(1e30f) +
                            GgufWriter::number(1e30f) + GgufWriter::number(1e30f));
        if (add)
          add(writer);
      },
      "gemma4", without);
}

TEST(GgufCheckpoint, ReadsLayersThatDiffer) {
  auto model =
      openGemma4({"attention.head_count_kv", "feed_forward_length"}, [](GgufWriter &writer) {
        writer.numbers("gemma4.attention.head_count_kv", std::vector<int32_t>{2, 1});
        writer.u32("gemma4.feed_forward_length", 12);
        writer.u32("gemma4.expert_count", 3).u32("gemma4.expert_used_count", 2);
        writer.u32("gemma4.expert_feed_forward_length", 4);
        writer.tensor("blk.1.ffn_gate_up_exps.weight", 0, {8, 8, 3}, std::string(768, 'g'));
        writer.tensor("blk.1.layer_output_scale.weight", 0, {1}, "1234");
      });
  ASSERT_TRUE(succeeds(model));
  const ModelConfig &config = model->config();
  const Attention &sliding = *config.layers[0].attention(), &full = *config.layers[1].attention();
  EXPECT_EQ(std::tuple(sliding.kvHeads, sliding.headDim, sliding.slidingWindow, sliding.valueIsKey),
            std::tuple(2u, 4u, 16u, false));
  EXPECT_EQ(std::tuple(full.kvHeads, full.headDim, full.slidingWindow, full.valueIsKey),
            std::tuple(1u, 8u, 0u, true));
  EXPECT_EQ(config.ropes[*full.rope].type, RopeType::Proportional);
  EXPECT_EQ(config.ropes[*full.rope].turningPairs(8), 1u);
  EXPECT_EQ(config.ropes[*sliding.rope], Rope());
  EXPECT_EQ(config.layerInputs.columns, 2u);
  EXPECT_FALSE(config.normsLessOne);
  for (uint64_t expert = 0; expert < 3; ++expert)
    for (bool up : {false, true}) {
      const Tensor *matrix = model->find(
          message("model.layers.1.experts.", expert, up ? ".up_proj.weight" : ".gate_proj.weight"));
      ASSERT_NE(matrix, nullptr);
      EXPECT_EQ(matrix->shape, (std::vector<uint64_t>{4, 8}));
      EXPECT_EQ(matrix->offset - model->find("model.layers.1.experts.0.gate_proj.weight")->offset,
                256 * expert + (up ? 128 : 0));
    }
  EXPECT_NE(model->find("model.layers.1.layer_scalar"), nullptr);
}

TEST(GgufCheckpoint, RefusesListsThatDoNotFitTheLayers) {
  auto list = [](std::string_view key, const std::vector<int32_t> &values, uint32_t shared = 0) {
    return openGemma4({key}, [&](GgufWriter &writer) {
      writer.numbers(message("gemma4.", key), values);
      writer.u32("gemma4.attention.shared_kv_layers", shared);
    });
  };
  EXPECT_TRUE(failsWith(list("attention.head_count_kv", {1}), "INGOT-E1114", {"for 2 layers"}));
  EXPECT_TRUE(failsWith(list("feed_forward_length", {12, 12, 12}), "INGOT-E1114",
                        {"feed_forward_length", "3 numbers"}));
  EXPECT_TRUE(failsWith(list("feed_forward_length", {12, 24}), "INGOT-E1114", {"twice as wide"}));
  EXPECT_TRUE(failsWith(list("feed_forward_length", {12, 24}, 1), "INGOT-E1051",
                        {"shared_kv_layers", "layer 1"}));
  for (std::string_view key :
       {"attention.key_length_swa", "attention.sliding_window", "embedding_length_per_layer_input"})
    EXPECT_TRUE(failsWith(openGemma4({key}), "INGOT-E1005", {key}));
  EXPECT_TRUE(failsWith(openGemma4({"pattern"}), "INGOT-E1005", {"sliding_window_pattern"}));
  EXPECT_TRUE(failsWith(openGemma4({"pattern"},
                                   [](GgufWriter &writer) {
                                     addFlags(writer, "gemma4.attention.sliding_window_pattern",
                                              {true});
                                   }),
                        "INGOT-E1114", {"flag for each of 2 layers"}));
  EXPECT_TRUE(failsWith(openGemma4({"rope_freqs"}), "INGOT-E1115", {"rope_freqs.weight"}));
}

TEST(GgufCheckpoint, ReadsRotaryScaling) {
  auto rope = [](std::string_view type, float factor, std::string_view key = "factor") {
    auto checkpoint = openWith([&](GgufWriter &writer) {
      if (!type.empty())
        writer.string("llama.rope.scaling.type", type);
      if (factor >= 0)
        writer.f32(message("llama.rope.", key == "factor" ? "scaling.factor" : key), factor);
    });
    return checkpoint ? Expected<Rope>(checkpoint->config().ropes[0]) : checkpoint.error();
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
  EXPECT_EQ(good->config().ropes[0].divisors, (std::vector<float>{1, 8}));
  EXPECT_TRUE(good->tensors().empty());
  EXPECT_TRUE(failsWith(divided(1, {2}, 8), "INGOT-E1115", {"rope_freqs.weight"}));
  EXPECT_TRUE(failsWith(divided(0, {4}, 8), "INGOT-E1115", {"2 numbers"}));
  for (float bad : {0.0f, -1.0f, INFINITY, NAN})
    EXPECT_TRUE(failsWith(divided(0, {2}, bad), "INGOT-E1115")) << bad;
}

/// A model with three experts, each of four by eight numbers, in one tensor of `count`.
static Expected<Checkpoint> openExperts(std::string_view architecture, uint64_t count = 3,
                                        const std::function<void(GgufWriter &)> &add = {}) {
  return openWith(
      [&](GgufWriter &writer) {
        auto key = [&](std::string_view name) { return message(architecture, ".", name); };
        writer.u32(key("expert_count"), 3).u32(key("expert_used_count"), 2);
        writer.u32(key("expert_feed_forward_length"), 4);
        writer.tensor("blk.1.ffn_up_exps.weight", 0, {8, 4, count}, std::string(128 * count, 'u'));
        writer.tensor("blk.1.ffn_gate_inp_shexp.weight", 0, {8}, std::string(32, 's'));
        if (add)
          add(writer);
      },
      architecture);
}

TEST(GgufCheckpoint, TakesStacksOfExpertsApart) {
  auto qwen = openExperts("qwen2moe", 3, [](GgufWriter &writer) {
    writer.u32("qwen2moe.expert_shared_feed_forward_length", 16);
  });
  ASSERT_TRUE(succeeds(qwen));
  const Experts &experts = *qwen->config().firstExperts();
  EXPECT_EQ(experts.count, 3u);
  EXPECT_EQ(experts.perToken, 2u);
  EXPECT_EQ(experts.innerSize, 4u);
  EXPECT_EQ(experts.sharedSize, 16u);
  EXPECT_FALSE(experts.routing.normTopkProb);
  EXPECT_FALSE(experts.biases);
  EXPECT_EQ(qwen->tensors().size(), 4u);
  uint64_t first = qwen->find("model.layers.1.mlp.experts.0.up_proj.weight")->offset;
  for (uint64_t expert = 0; expert < 3; ++expert) {
    const auto *matrix =
        qwen->find(message("model.layers.1.mlp.experts.", expert, ".up_proj.weight"));
    ASSERT_NE(matrix, nullptr);
    EXPECT_EQ(matrix->shape, (std::vector<uint64_t>{4, 8}));
    EXPECT_EQ(matrix->bytes, 128u);
    EXPECT_EQ(matrix->offset, first + 128 * expert);
    EXPECT_EQ(qwen->shownName(matrix->name), "blk.1.ffn_up_exps.weight");
  }
  EXPECT_EQ(qwen->find("model.layers.1.mlp.shared_expert_gate.weight")->shape,
            (std::vector<uint64_t>{1, 8}));

  auto mixtral = openExperts("llama", 3, [](GgufWriter &writer) {
    writer.tensor("blk.0.ffn_down.2.weight", 0, {4}, four); // of an older converter
  });
  ASSERT_TRUE(succeeds(mixtral));
  EXPECT_EQ(mixtral->config().architecture, "MixtralForCausalLM");
  EXPECT_TRUE(mixtral->config().firstExperts()->routing.normTopkProb);
  EXPECT_NE(mixtral->find("model.layers.1.block_sparse_moe.experts.2.w3.weight"), nullptr);
  EXPECT_NE(mixtral->find("model.layers.0.block_sparse_moe.experts.2.w2.weight"), nullptr);
  auto qwen3 = openExperts("qwen3moe");
  ASSERT_TRUE(succeeds(qwen3));
  EXPECT_TRUE(qwen3->config().firstExperts()->routing.normTopkProb);
  EXPECT_EQ(attentionOf(qwen3->config()).queryKeyNorm, QueryKeyNorm::Heads);
  EXPECT_TRUE(failsWith(openExperts("qwen3moe", 2), "INGOT-E1124",
                        {"\"blk.1.ffn_up_exps.weight\"", "3 matrices"}));
  EXPECT_TRUE(failsWith(openWith([](GgufWriter &) {}, "qwen3moe"), "INGOT-E1005",
                        {"qwen3moe.expert_count"}));
}

/// Whether the matrix of layer 1 has so many rows behind so many of `before`.
static void expectRows(const Checkpoint &model, std::string_view name, uint64_t rows,
                       std::string_view before, uint64_t rowsBefore) {
  const Tensor *part = model.find(message("model.layers.1.self_attn.", name, "_proj.weight")),
               *other = model.find(message("model.layers.1.self_attn.", before, "_proj.weight"));
  ASSERT_TRUE(part && other);
  EXPECT_EQ(part->shape, (std::vector<uint64_t>{rows, 8}));
  EXPECT_EQ(part->bytes, 32 * rows);
  EXPECT_EQ(part->offset, other->offset + 32 * rowsBefore);
}

TEST(GgufCheckpoint, TakesQueriesKeysAndValuesApart) {
  auto fused = [](uint64_t rows) {
    return [rows](GgufWriter &writer) {
      writer.tensor("blk.1.attn_qkv.weight", 0, {8, rows}, std::string(32 * rows, 'w'));
      writer.tensor("blk.0.attn_qkv.bias", 0, {16}, std::string(64, 'b'));
    };
  };
  auto llama = openWith(fused(16));
  ASSERT_TRUE(succeeds(llama));
  expectRows(*llama, "q", 8, "q", 0);
  expectRows(*llama, "k", 4, "q", 8);
  expectRows(*llama, "v", 4, "k", 4);
  EXPECT_TRUE(attentionOf(llama->config()).bias);
  EXPECT_EQ(llama->find("model.layers.0.self_attn.v_proj.bias")->shape, std::vector<uint64_t>{4});
  EXPECT_TRUE(failsWith(openWith(fused(17)), "INGOT-E1124", {"blk.1.attn_qkv", "16 rows"}));
  // Full layers have other heads, and values of their own then.
  auto gemma = openGemma4({}, [](GgufWriter &writer) {
    writer.tensor("blk.1.attn_qkv.weight", 0, {8, 32}, std::string(1024, 'w'));
  });
  ASSERT_TRUE(succeeds(gemma));
  EXPECT_FALSE(gemma->config().layers[1].attention()->valueIsKey);
  expectRows(*gemma, "v", 8, "k", 8);
}

TEST(GgufCheckpoint, ReadsGptOss) {
  auto model = openExperts("gpt-oss", 3, [](GgufWriter &writer) {
    writer.u32("gpt-oss.attention.sliding_window", 32).string("gpt-oss.rope.scaling.type", "yarn");
    writer.f32("gpt-oss.rope.scaling.factor", 32);
    writer.u32("gpt-oss.rope.scaling.original_context_length", 4096);
    writer.tensor("blk.1.ffn_up_exps.bias", 0, {4, 3}, std::string(48, 'b'));
  });
  ASSERT_TRUE(succeeds(model));
  const ModelConfig &config = model->config();
  EXPECT_TRUE(attentionOf(config).sinks);
  EXPECT_EQ(mlpOf(config).activation, Activation::ClampedSwiglu);
  EXPECT_TRUE(slides(config, 0) && !slides(config, 1));
  EXPECT_TRUE(config.firstExperts()->biases);
  EXPECT_FALSE(config.firstExperts()->storage == ExpertStorage::Turns);
  EXPECT_EQ(config.ropes[0], (Rope{.type = RopeType::Yarn,
                                   .factor = 32,
                                   .fastTurns = 32,
                                   .slowTurns = 1,
                                   .wholePairs = false,
                                   .attentionFactor = 0.1 * std::log(32.0) + 1,
                                   .originalPositions = 4096}));
  EXPECT_EQ(model->find("model.layers.1.mlp.experts.up_proj_bias")->shape,
            (std::vector<uint64_t>{3, 4}));
}

TEST(GgufCheckpoint, ReadsPhi3) {
  auto phi = [](const std::function<void(GgufWriter &)> &add) { return openWith(add, "phi3"); };
  auto divisors = [](GgufWriter &writer, std::string_view name, float value) {
    writer.tensor(name, 0, {1}, GgufWriter::number(value));
  };
  auto scaled = phi([&](GgufWriter &writer) {
    writer.u32("phi3.rope.dimension_count", 2).u32("phi3.attention.sliding_window", 16);
    writer.u32("phi3.rope.scaling.original_context_length", 32);
    writer.f32("phi3.rope.scaling.attn_factor", 1.25f);
    divisors(writer, "rope_factors_long.weight", 4);
    divisors(writer, "rope_factors_short.weight", 2);
  });
  ASSERT_TRUE(succeeds(scaled));
  const ModelConfig &config = scaled->config();
  EXPECT_TRUE(attentionOf(config).fusedQkv && mlpOf(config).fusedGateUp);
  EXPECT_EQ(rotaryPairs(config), 1u);
  EXPECT_EQ(attentionOf(config).slidingWindow, 16u);
  EXPECT_TRUE(slides(config, 1));
  EXPECT_EQ(config.ropes[0].type, RopeType::LongRope);
  EXPECT_EQ(config.ropes[0].originalPositions, 32u);
  EXPECT_EQ(config.ropes[0].attentionFactor, 1.25);
  EXPECT_EQ(config.ropes[0].shortDivisors, std::vector<double>{2});
  EXPECT_EQ(config.ropes[0].longDivisors, std::vector<double>{4});
  EXPECT_TRUE(scaled->tensors().empty());

  auto old = phi([](GgufWriter &) {});
  ASSERT_TRUE(succeeds(old));
  EXPECT_EQ(attentionOf(old->config()).slidingWindow, 0u);
  auto mini = openWith(
      [](GgufWriter &writer) {
        writer.u32("phi3.context_length", 4096).u32("phi3.block_count", 32);
      },
      "phi3", {"context_length", "block_count"});
  ASSERT_TRUE(succeeds(mini));
  EXPECT_EQ(attentionOf(mini->config()).slidingWindow, 2047u);
  EXPECT_TRUE(
      failsWith(phi([&](GgufWriter &writer) { divisors(writer, "rope_factors_long.weight", 4); }),
                "INGOT-E1114", {"\"rope_factors_short.weight\" is missing"}));
  auto both = [&](const std::function<void(GgufWriter &)> &add) {
    return phi([&](GgufWriter &writer) {
      divisors(writer, "rope_factors_long.weight", 4);
      divisors(writer, "rope_factors_short.weight", 2);
      add(writer);
    });
  };
  EXPECT_TRUE(failsWith(both([](GgufWriter &) {}), "INGOT-E1005", {"attn_factor"}));
  EXPECT_TRUE(
      failsWith(both([](GgufWriter &writer) { writer.f32("phi3.rope.scaling.attn_factor", 1); }),
                "INGOT-E1115", {"2 numbers"}));
  EXPECT_TRUE(failsWith(both([](GgufWriter &writer) { writer.f32("phi3.rope.scaling.factor", 2); }),
                        "INGOT-E1114", {"linearly"}));
  EXPECT_TRUE(failsWith(phi([](GgufWriter &writer) { writer.u32("phi3.rope.dimension_count", 3); }),
                        "INGOT-E1051"));
}

TEST(GgufCheckpoint, RefusesWhatItDoesNotUnderstand) {
  EXPECT_TRUE(failsWith(open(GgufWriter()), "INGOT-E1005", {"general.architecture"}));
  EXPECT_TRUE(
      failsWith(open(GgufWriter().string("general.architecture", "phi2")), "INGOT-E1113",
                {"\"phi2\"", "llama, llama4, minimax-m2, nemotron_h, nemotron_h_moe, olmo2, phi3, "
                             "qwen2, qwen2moe"}));
  EXPECT_TRUE(failsWith(open(GgufWriter().string("general.architecture", "jamba")), "INGOT-E1113",
                        {"\"jamba\" is not supported: a Mamba-1 model"}));
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
  EXPECT_TRUE(failsWith(with("expert_count", 8), "INGOT-E1005", {"expert_used_count"}));
  EXPECT_TRUE(failsWith(with("expert_shared_feed_forward_length", 8), "INGOT-E1114"));
  EXPECT_TRUE(failsWith(with("expert_weights_scale", 2), "INGOT-E1114", {"not known"}));
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

TEST(GgufCheckpoint, LeavesLayersOutThatOnlyDraft) {
  auto drafts = openWith([](GgufWriter &writer) { writer.u32("llama.nextn_predict_layers", 1); });
  ASSERT_TRUE(succeeds(drafts));
  EXPECT_EQ(drafts->config().layers.size(), 1u);
  EXPECT_EQ(drafts->deviations().back().what, "nextn_predict_layers");
  for (const Tensor &tensor : drafts->tensors())
    EXPECT_FALSE(tensor.name.starts_with("model.layers.1.")) << tensor.name;
  EXPECT_TRUE(
      failsWith(openWith([](GgufWriter &writer) { writer.u32("llama.nextn_predict_layers", 2); }),
                "INGOT-E1006"));
}

TEST(GgufCheckpoint, TakesTheLayersThatHaveTheWindow) {
  auto with = [](const std::function<void(GgufWriter &)> &add) {
    return openWith(
        [&](GgufWriter &writer) {
          writer.u32("gemma2.attention.sliding_window", 8);
          add(writer);
        },
        "gemma2");
  };
  auto number =
      with([](GgufWriter &writer) { writer.u32("gemma2.attention.sliding_window_pattern", 1); });
  ASSERT_TRUE(succeeds(number));
  EXPECT_FALSE(slides(number->config(), 0));
  auto short_ = with([](GgufWriter &writer) {
    writer.strings("gemma2.attention.sliding_window_pattern", {"yes"});
  });
  EXPECT_TRUE(failsWith(short_, "INGOT-E1114", {"2 layers"}));
}

TEST(GgufCheckpoint, CollectsTokensThatEndAText) {
  auto generation = [](const std::function<void(GgufWriter &)> &add) {
    auto checkpoint = openWith(
        [&](GgufWriter &writer) {
          writer.strings("tokenizer.ggml.tokens",
                         {"<|im_end|>", "<|end|>", "<|eot_id|>", "d", "<|tool_response>"});
          writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 3, 3, 1, 4});
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
    EXPECT_EQ(mlpOf(ours).innerSize, mlpOf(theirs).innerSize);
    EXPECT_EQ(ours.layers.size(), theirs.layers.size());
    EXPECT_EQ(attentionOf(ours).heads, attentionOf(theirs).heads);
    EXPECT_EQ(attentionOf(ours).kvHeads, attentionOf(theirs).kvHeads);
    EXPECT_EQ(attentionOf(ours).headDim, attentionOf(theirs).headDim);
    EXPECT_EQ(ours.vocabSize, theirs.vocabSize);
    EXPECT_FLOAT_EQ(static_cast<float>(ours.normEpsilon), static_cast<float>(theirs.normEpsilon));
    EXPECT_EQ(ours.ropes, theirs.ropes);
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
