// SPDX-License-Identifier: Apache-2.0
// Methods, what of them is reported, and what is refused.
#include "compiler/checkpoint/quantized/QuantizationReader.h"
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <map>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

namespace {

using Activations = QuantizationConfig::Activations;

/// What `members`, the text of a quantization_config without its braces, is read as.
Expected<QuantizationConfig> parse(const std::string &members) {
  auto root = Json::parse("{\"quantization_config\": {" + members + "}}", "config.json");
  EXPECT_TRUE(root) << members;
  std::vector<std::filesystem::path> inputs;
  return readQuantization(*root, "/nonexistent", inputs);
}

testing::AssertionResult refused(const std::string &members, std::string_view part) {
  return failsWith(parse(members), "INGOT-E1054", {part});
}

TEST(QuantizationConfig, ReadsEachMethod) {
  auto awq = parse(R"("quant_method": "awq", "w_bit": 4, "q_group_size": 64, "version": "GEMM")");
  ASSERT_TRUE(succeeds(awq));
  EXPECT_EQ(awq->method, "awq");
  EXPECT_EQ(awq->group, 64u);
  EXPECT_EQ(awq->packing, FormatReader::AwqByColumns);
  auto fast = parse(R"("quant_method": "awq", "backend": "llm-awq")");
  ASSERT_TRUE(succeeds(fast));
  EXPECT_EQ(fast->packing, FormatReader::AwqFast);

  auto gptq = parse(R"("quant_method": "gptq", "bits": 4, "group_size": -1, "sym": false)");
  ASSERT_TRUE(succeeds(gptq));
  EXPECT_EQ(gptq->group, 0u);
  EXPECT_EQ(gptq->zeroIncrement, 1);
  EXPECT_FALSE(gptq->symmetric);
  auto second = parse(R"("quant_method": "gptq", "bits": 3, "checkpoint_format": "gptq_v2")");
  ASSERT_TRUE(succeeds(second));
  EXPECT_EQ(second->zeroIncrement, 0);
  EXPECT_TRUE(second->deviations.empty());

  auto integers = parse(R"("quant_method": "compressed-tensors", "format": "int-quantized",
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"},
          "input_activations": {"num_bits": 8, "type": "int", "strategy": "token",
                                "dynamic": true}}})");
  ASSERT_TRUE(succeeds(integers));
  EXPECT_EQ(integers->activations, Activations::Int8PerToken);
  EXPECT_TRUE(integers->deviations.empty());
}

TEST(QuantizationConfig, OverridesLeaveBitsAndGroupToTheTensors) {
  auto gptq = parse(R"("quant_method": "gptq", "bits": 4, "group_size": 128,
      "dynamic": {"-:.*mlp.*": {}, "+:.*q_proj": {"bits": 2, "group_size": 32}})");
  ASSERT_TRUE(succeeds(gptq));
  EXPECT_FALSE(gptq->bits);
  EXPECT_FALSE(gptq->group);
  EXPECT_TRUE(gptq->deviations.empty());
}

TEST(QuantizationConfig, TakesScalesOfActivationsAndOfTheCache) {
  using KvCache = QuantizationConfig::KvCache;
  auto fixed = parse(R"("quant_method": "fp8", "activation_scheme": "static")");
  ASSERT_TRUE(succeeds(fixed));
  EXPECT_EQ(fixed->activations, Activations::Float8PerTensor);
  EXPECT_EQ(fixed->kvCache, KvCache::Unstated);
  auto cache = parse(R"("quant_method": "fp8", "kv_cache_scheme": "static")");
  ASSERT_TRUE(succeeds(cache));
  EXPECT_EQ(cache->kvCache, KvCache::Float8);
  auto modelOpt = parse(R"("quant_method": "modelopt", "quant_algo": "FP8",
      "kv_cache_quant_algo": "FP8")");
  ASSERT_TRUE(succeeds(modelOpt));
  EXPECT_EQ(modelOpt->activations, Activations::Float8PerTensor);
  EXPECT_EQ(modelOpt->kvCache, KvCache::Float8);
  auto integers = parse(R"("quant_method": "compressed-tensors", "format": "int-quantized",
      "kv_cache_scheme": {"num_bits": 8, "type": "int", "strategy": "tensor", "dynamic": false},
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"},
          "input_activations": {"num_bits": 8, "type": "int", "strategy": "tensor"}}})");
  ASSERT_TRUE(succeeds(integers));
  EXPECT_EQ(integers->activations, Activations::Int8PerTensor);
  EXPECT_EQ(integers->kvCache, KvCache::Int8);
  for (const auto *config : {&*fixed, &*cache, &*modelOpt, &*integers})
    EXPECT_TRUE(config->deviations.empty());
}

TEST(QuantizationConfig, ModulesHaveAlgorithmsOfTheirOwn) {
  auto mixed = parse(R"("quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
      "kv_cache_quant_algo": "FP8", "quantized_layers": {
          "lm_head": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
          "model.layers.0.mlp.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
          "model.layers.0.linear_attn.out_proj": {"quant_algo": "FP8"},
          "model.layers.1.linear_attn.out_proj": {"quant_algo": "FP8"}})");
  ASSERT_TRUE(succeeds(mixed));
  EXPECT_EQ(mixed->kvCache, QuantizationConfig::KvCache::Float8);
  EXPECT_EQ(mixed->activations, Activations::AsStored);
  EXPECT_EQ(mixed->packing, FormatReader::None);
  ASSERT_EQ(mixed->deviations.size(), 1u);
  EXPECT_EQ(mixed->deviations[0].stated, "FP8 of some modules");
  EXPECT_TRUE(succeeds(parse(R"("quant_method": "modelopt", "quant_algo": "MIXED_PRECISION")")));
  auto one = [](const char *algorithm) {
    return message(R"("quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
        "quantized_layers": {"lm_head": {"quant_algo": )",
                   algorithm, "}}");
  };
  EXPECT_TRUE(refused(one("\"W4A16_AWQ\""), "\"W4A16_AWQ\" of some modules"));
  EXPECT_TRUE(refused(one("\"NVFP4_SVD\""), "\"NVFP4_SVD\""));
  EXPECT_TRUE(failsWith(parse(one("4")), "INGOT-E1004", {"quantized_layers"}));
}

TEST(QuantizationConfig, WeightsTrainedForATypeAreNotQuantized) {
  auto trained = parse(R"("quant_type": "q4_0")");
  ASSERT_TRUE(succeeds(trained));
  EXPECT_FALSE(trained->isQuantized());
  ASSERT_EQ(trained->deviations.size(), 1u);
  EXPECT_EQ(trained->deviations[0].stated, "q4_0");
  EXPECT_TRUE(refused(R"("quant_type": "q4_0", "quant_method": "aqlm")", "\"aqlm\""));
  EXPECT_TRUE(failsWith(parse(R"("bits": 4)"), "INGOT-E1005", {"quant_method"}));
}

TEST(QuantizationConfig, ReportsWhatIsNotTaken) {
  auto blocks = parse(R"("quant_method": "fp8", "weight_block_size": [128, 128])");
  ASSERT_TRUE(succeeds(blocks));
  EXPECT_EQ(blocks->deviations.size(), 1u);
  EXPECT_EQ(blocks->block, (std::array<uint64_t, 2>{128, 128}));
  EXPECT_EQ(parse(R"("quant_method": "fp8", "weight_block_size": [64, 32])")->block,
            (std::array<uint64_t, 2>{64, 32}));
  EXPECT_EQ(parse(R"("quant_method": "compressed-tensors", "format": "float-quantized",
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float",
          "strategy": "block", "block_structure": [64, 256]}}})")
                ->block,
            (std::array<uint64_t, 2>{64, 256}));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "fp8", "weight_block_size": [64])"), "INGOT-E1054",
                        {"weight_block_size"}));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "fp8", "weight_block_size": [64, 0])"),
                        "INGOT-E1006", {"weight_block_size"}));
  auto uneven = parse(R"("quant_method": "compressed-tensors", "format": "int-quantized",
      "kv_cache_scheme": {"num_bits": 8, "type": "float", "strategy": "attn_head"},
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"},
          "input_activations": {"num_bits": 8, "type": "int", "symmetric": false}}})");
  ASSERT_TRUE(succeeds(uneven));
  EXPECT_EQ(uneven->activations, Activations::AsStored);
  EXPECT_EQ(uneven->kvCache, QuantizationConfig::KvCache::Declined);
  ASSERT_EQ(uneven->deviations.size(), 2u);
  EXPECT_EQ(uneven->deviations[0].stated, "static 8-bit float by attn_head");
  EXPECT_EQ(uneven->deviations[1].stated, "static, asymmetric, 8-bit int by tensor");
  auto cache = parse(R"("quant_method": "modelopt", "quant_algo": "FP8",
      "kv_cache_quant_algo": "NVFP4")");
  ASSERT_TRUE(succeeds(cache));
  EXPECT_EQ(cache->deviations.at(0).what, "KV cache");
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "compressed-tensors", "format": "int-quantized",
      "kv_cache_scheme": {"num_bits": "eight"})"),
                        "INGOT-E1004", {"kv_cache_scheme"}));
}

TEST(QuantizationConfig, RefusesByName) {
  EXPECT_TRUE(refused(R"("quant_method": "aqlm")", "\"aqlm\""));
  EXPECT_TRUE(refused(R"("quant_method": "awq", "version": "exllama")", "\"exllama\""));
  EXPECT_TRUE(refused(R"("quant_method": "awq", "bits": 3)", "3 bits"));
  EXPECT_TRUE(refused(R"("quant_method": "awq", "zero_point": false)", "zero points"));
  EXPECT_TRUE(refused(R"("quant_method": "awq", "version": "marlin")", "zero points"));
  EXPECT_TRUE(refused(R"("quant_method": "gptq", "checkpoint_format": "marlin", "sym": false)",
                      "zero points"));
  EXPECT_TRUE(refused(R"("quant_method": "gptq", "is_marlin_format": true, "desc_act": true)",
                      "another order"));
  EXPECT_TRUE(refused(R"("quant_method": "marlin", "desc_act": true)", "another order"));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "gptq", "checkpoint_format": "bitblas")"),
                        "INGOT-E1054", {"\"bitblas\"", "GPTQModel made it from"}));
  EXPECT_TRUE(refused(R"("quant_method": "bitsandbytes")", "neither 4 nor 8 bits"));
  EXPECT_TRUE(refused(R"("quant_method": "modelopt", "quant_algo": "NVFP4_SVD")", "\"NVFP4_SVD\""));
  EXPECT_TRUE(refused(R"("quant_method": "modelopt", "quant_algo": "W4A16_AWQ",
      "has_zero_point": true)",
                      "has_zero_point"));
  EXPECT_TRUE(refused(R"("quant_method": "fp8", "fmt": "e5m2")", "\"e5m2\""));
  EXPECT_TRUE(refused(R"("quant_method": "torchao",
      "quant_type": {"default": {"_type": "Int8DynamicActivationInt4WeightConfig", "_data": {}}})",
                      "\"Int8DynamicActivationInt4WeightConfig\" (its files hold tensors"));
  EXPECT_TRUE(refused(R"("quant_method": "torchao", "quant_type": {"default":
      {"_type": "Int4WeightOnlyConfig", "_data": {"int4_packing_format": "preshuffled"}}})",
                      "TorchAO's packing \"preshuffled\""));
  EXPECT_TRUE(refused(R"("quant_method": "torchao", "quant_type": "int8_weight_only")",
                      "TorchAO's \"int8_weight_only\""));
  EXPECT_TRUE(refused(R"("quant_method": "torchao", "quant_type": {"default": 4})", "TorchAO's"));
  EXPECT_TRUE(refused(R"("quant_method": "compressed-tensors", "format": "pack-quantized",
      "sparsity_config": {"format": "sparse-24-bitmask"})",
                      "sparsity_config"));
  for (const char *format : {"marlin-24", "sparse-24-bitmask", "float-mixed"})
    EXPECT_TRUE(
        refused(std::string(R"("quant_method": "compressed-tensors", "format": ")") + format + "\"",
                format));
}

TEST(QuantizationConfig, GoesByTheRegistry) {
  const std::map<std::string_view, std::string> keys = {
      {"awq", "version"}, {"gptq", "checkpoint_format"},    {"compressed-tensors", "format"},
      {"fp8", "fmt"},     {"auto-round", "packing_format"}, {"modelopt", "quant_algo"}};
  size_t tried = 0;
  for (const QuantizationMethod *own : methods::all)
    for (const StoredFormat &format : own->formats) {
      const std::string_view method = own->names[0];
      EXPECT_NE(format.isRead(), !format.refusal.empty()) << method;
      EXPECT_TRUE(format.isRead() <= format.instead.empty()) << method;
      auto key = keys.find(method);
      for (std::string_view packing : format.packings) {
        if (packing.empty() || key == keys.end())
          continue;
        SCOPED_TRACE(message(method, " ", packing));
        // AWQ's marlin has no zero points, all others have.
        std::string members = message("\"quant_method\": ", inQuotes(method), ", \"", key->second,
                                      "\": ", inQuotes(packing),
                                      ", \"zero_point\": ", packing == "marlin" ? "false" : "true");
        if (format.isRead())
          EXPECT_TRUE(succeeds(parse(members)));
        else
          EXPECT_TRUE(refused(members, format.refusal));
        ++tried;
      }
    }
  EXPECT_GE(tried, 40u);
}

TEST(QuantizationConfig, SaysWhatIsWidened) {
  auto twice = parse(R"("quant_method": "bitsandbytes", "load_in_4bit": true,
      "bnb_4bit_use_double_quant": true)");
  ASSERT_TRUE(succeeds(twice));
  ASSERT_EQ(twice->deviations.size(), 1u);
  EXPECT_EQ(twice->deviations[0].effective, "f32");
  EXPECT_TRUE(parse(R"("quant_method": "mxfp4")")->deviations.empty());
  auto config = parse(R"("quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
      "config_groups": {"group_0": {
        "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group"},
        "input_activations": {"num_bits": 4, "type": "float", "dynamic": "local",
                              "strategy": "tensor_group"}}})");
  ASSERT_TRUE(succeeds(config));
  ASSERT_EQ(config->deviations.size(), 1u);
  EXPECT_EQ(config->deviations[0].stated, "dynamic 4-bit float by tensor_group");
}

TEST(QuantizationConfig, ReadsWordsOfAutoRound) {
  auto words = parse(R"("quant_method": "intel/auto-round", "bits": 4, "group_size": 128,
      "sym": true, "packing_format": "auto_round:auto_gptq", "act_bits": 16,
      "extra_config": {"lm_head": {"bits": 16}}, "super_bits": null, "rotation_config": {})");
  ASSERT_TRUE(succeeds(words));
  EXPECT_EQ(words->packing, FormatReader::Gptq);
  EXPECT_EQ(words->zeroIncrement, 1);
  EXPECT_TRUE(words->symmetric);
  EXPECT_EQ(words->group, 128u);
  EXPECT_TRUE(words->deviations.empty());
  // Some matrices have zero points, so all are read with theirs.
  auto mixed = parse(R"("quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true,
      "packing_format": "auto_round:gptqmodel", "extra_config": {"a": {"bits": 8, "sym": false}})");
  ASSERT_TRUE(succeeds(mixed));
  EXPECT_EQ(mixed->zeroIncrement, 0);
  EXPECT_FALSE(mixed->symmetric);
  EXPECT_FALSE(mixed->bits);
  EXPECT_FALSE(mixed->group);
  auto fixed = parse(R"("quant_method": "auto-round", "bits": 8, "data_type": "fp8",
      "packing_format": "auto_round:fp8_static", "act_bits": 8, "act_dynamic": false)");
  ASSERT_TRUE(succeeds(fixed));
  EXPECT_EQ(fixed->activations, Activations::Float8PerTensor);
  auto blocks = parse(R"("quant_method": "auto-round", "bits": 4, "data_type": "mx_fp",
      "packing_format": "auto_round:llm_compressor", "act_bits": 4, "act_data_type": "mx_fp")");
  ASSERT_TRUE(succeeds(blocks));
  ASSERT_EQ(blocks->deviations.size(), 1u);
  EXPECT_EQ(blocks->deviations[0].stated, "dynamic of mx_fp");

  const std::string words4 = R"("quant_method": "auto-round", "bits": 4, )";
  EXPECT_TRUE(refused(words4 + R"("sym": false)", "a packing that is not stated"));
  EXPECT_TRUE(refused(words4 + R"("packing_format": "auto_round:fake")", "no kernel reads"));
  EXPECT_TRUE(refused(words4 + R"("super_bits": 6)", "super_bits"));
  EXPECT_TRUE(refused(words4 + R"("rotation_config": {"r1": true})", "rotation_config"));
  EXPECT_TRUE(refused(words4 + R"("act_bits": 8)", "words with quantized activations"));
  EXPECT_TRUE(refused(words4 + R"("data_type": "mx_fp")", "\"mx_fp\" in words"));
  EXPECT_TRUE(refused(words4 + R"("extra_config": {"a": {"bits": 4, "data_type": "nv_fp"}})",
                      "\"nv_fp\" of some modules"));
  EXPECT_TRUE(refused(words4 + R"("packing_format": "auto_round:fp8_static", "fmt": "e5m2")",
                      "other than e4m3"));
}

TEST(QuantizationConfig, ReadsSpecificationsOfQuark) {
  const std::string quark = R"("quant_method": "quark", )";
  auto all = [&](const std::string &weight, const std::string &inputs,
                 const std::string &more = "") {
    return parse(quark + R"("global_quant_config": {"weight": {)" + weight +
                 R"(}, "input_tensors": )" + inputs + "}" + more);
  };
  const std::string fp8 = R"("dtype": "fp8_e4m3", "qscheme": "per_tensor", "is_dynamic": false)";
  const std::string cache = R"(, "layer_quant_config": {"*k_proj": {"weight": {)" + fp8 +
                            R"(}, "input_tensors": {)" + fp8 + R"(}, "output_tensors": {)" + fp8 +
                            "}}}";
  auto fixed = all(fp8, "{" + fp8 + "}", cache);
  ASSERT_TRUE(succeeds(fixed));
  EXPECT_EQ(fixed->packing, FormatReader::Float8);
  EXPECT_EQ(fixed->activations, Activations::Float8PerTensor);
  EXPECT_EQ(fixed->kvCache, QuantizationConfig::KvCache::Float8);
  EXPECT_TRUE(fixed->deviations.empty());
  auto tokens = all(R"("dtype": "int8", "qscheme": "per_channel")",
                    R"({"dtype": "int8", "qscheme": "per_channel", "is_dynamic": true})");
  ASSERT_TRUE(succeeds(tokens));
  EXPECT_EQ(tokens->activations, Activations::Int8PerToken);
  const std::string groups = R"("qscheme": "per_group", "group_size": 64, )";
  auto words = all(groups + R"("dtype": "int4", "symmetric": true)", "null",
                   R"(, "export": {"pack_method": "order"})");
  ASSERT_TRUE(succeeds(words));
  EXPECT_EQ(words->packing, FormatReader::AwqByColumns);
  EXPECT_EQ(words->increment, 8);
  EXPECT_TRUE(words->symmetric && words->outputsInOrder);
  EXPECT_EQ(words->group, 64u);
  const std::string fp4 = R"("dtype": "fp4", "qscheme": "per_group", "scale_format": "e8m0", )";
  auto blocks = all(fp4 + R"("group_size": 32)", "{" + fp4 + R"("is_dynamic": true})");
  ASSERT_TRUE(succeeds(blocks));
  ASSERT_EQ(blocks->deviations.size(), 1u);
  EXPECT_EQ(blocks->deviations[0].stated, "dynamic fp4 per_group");

  auto no = [&](const Expected<QuantizationConfig> &config, std::string_view part) {
    return failsWith(config, "INGOT-E1054", {part});
  };
  EXPECT_TRUE(no(all(R"("dtype": "fp6_e2m3")", "null"), "codes of 6 bits"));
  EXPECT_TRUE(no(all(R"("dtype": "int4", "qscheme": "per_channel")", "null"), "int4 per_channel"));
  EXPECT_TRUE(no(all(fp4 + R"("group_size": 16)", "null"), "e8m0 for 32"));
  EXPECT_TRUE(no(all(fp8 + R"(, "is_scale_quant": true)", "null"), "scales that are quantized"));
  EXPECT_TRUE(no(parse(quark + R"("global_quant_config": {"weight": [{}, {}]})"), "several steps"));
  EXPECT_TRUE(
      no(all(fp8, "null", R"(, "algo_config": [{"r4": true}])"), "a rotation of inputs, r4"));
  EXPECT_TRUE(
      no(all(fp8, "null", R"(, "softmax_quant_spec": {"dtype": "int8"})"), "softmax_quant_spec"));
  EXPECT_TRUE(no(
      all(fp8, "null", R"(, "layer_quant_config": {"*o_proj": {"output_tensors": {)" + fp8 + "}}}"),
      "\"*o_proj\""));
  EXPECT_TRUE(no(
      all(fp8, "null",
          R"(, "layer_quant_config": {"*o_proj": {"weight": {)" + groups + R"("dtype": "int4"}}})"),
      "in several ways"));
}

TEST(QuantizationConfig, ReadsSettingsOfHqq) {
  auto hqq = [](const std::string &weights, const std::string &more = "") {
    return parse(R"("quant_method": "hqq", "quant_config": {"weight_quant_params": {)" + weights +
                 "}" + more + "}");
  };
  auto four = hqq(R"("nbits": 4, "group_size": 64, "axis": 1, "channel_wise": true)",
                  R"(, "scale_quant_params": null)");
  ASSERT_TRUE(succeeds(four));
  EXPECT_EQ(four->bits, 4u);
  EXPECT_EQ(four->group, 64u);
  auto bytes = hqq(R"("nbits": 5, "group_size": null)");
  ASSERT_TRUE(succeeds(bytes));
  EXPECT_EQ(bytes->bits, 8u);
  EXPECT_EQ(bytes->group, 0u);
  auto layers = parse(R"("quant_method": "hqq", "quant_config": {
      "self_attn.q_proj": {"weight_quant_params": {"nbits": 4}},
      "mlp.up_proj": {"weight_quant_params": {"nbits": 2}}})");
  ASSERT_TRUE(succeeds(layers));
  EXPECT_FALSE(layers->bits);

  auto no = [&](const Expected<QuantizationConfig> &config, std::string_view part) {
    return failsWith(config, "INGOT-E1054", {part, "HqqConfig(nbits=4, axis=1)"});
  };
  EXPECT_TRUE(no(hqq(R"("nbits": 3)"), "\"3\" (ten codes in a word"));
  EXPECT_TRUE(no(hqq(R"("nbits": 1.58)"), "\"1.58\""));
  EXPECT_TRUE(no(hqq(R"("axis": 0)"), "axis 0"));
  EXPECT_TRUE(no(hqq(R"("channel_wise": false)"), "channel_wise"));
  EXPECT_TRUE(no(hqq(R"("view_as_float": true)"), "view_as_float"));
  EXPECT_TRUE(no(hqq("", R"(, "zero_quant_params": {"nbits": 8})"), "zero_quant_params"));
  EXPECT_TRUE(no(parse(R"("quant_method": "hqq")"), "without quant_config"));
}

TEST(QuantizationConfig, TellsActivationsOfTorchAo) {
  auto torchAo = [](const std::string &type, const std::string &data = "") {
    return parse(R"("quant_method": "torchao", "quant_type": {"default": {"_type": ")" + type +
                 R"(", "_data": {)" + data + "}}}");
  };
  const std::string rows = R"("granularity": [{"_type": "PerRow", "_data": {}}])";
  auto float8 = torchAo("Float8DynamicActivationFloat8WeightConfig", rows);
  ASSERT_TRUE(succeeds(float8));
  EXPECT_EQ(float8->activations, Activations::Float8PerToken);
  auto whole = torchAo("Float8DynamicActivationFloat8WeightConfig");
  ASSERT_TRUE(succeeds(whole));
  EXPECT_EQ(whole->activations, Activations::AsStored);
  EXPECT_EQ(whole->deviations.at(0).stated, "dynamic FP8 by tensor");
  EXPECT_EQ(
      torchAo("Float8DynamicActivationFloat8WeightConfig", rows + R"(, "activation_value_ub": 9.5)")
          ->activations,
      Activations::AsStored);
  EXPECT_EQ(torchAo("Int8DynamicActivationInt8WeightConfig")->activations,
            Activations::Int8PerToken);
  EXPECT_EQ(torchAo("Int8DynamicActivationIntxWeightConfig")->deviations.at(0).stated,
            "dynamic int8 by token, asymmetric");
  for (const char *only :
       {"Int8WeightOnlyConfig", "IntxWeightOnlyConfig", "Float8WeightOnlyConfig"})
    EXPECT_TRUE(torchAo(only)->deviations.empty()) << only;
}

TEST(QuantizationConfig, SaysWhatModelOptAndFbgemmDoOtherwise) {
  auto modelOpt = [](const char *algorithm) {
    return parse(message(R"("quant_method": "modelopt", "quant_algo": )", inQuotes(algorithm)));
  };
  EXPECT_EQ(modelOpt("W8A8_SQ_PER_CHANNEL")->activations, Activations::Int8PerTensor);
  EXPECT_EQ(modelOpt("FP8_PER_CHANNEL_PER_TOKEN")->activations, Activations::Float8PerToken);
  EXPECT_EQ(modelOpt("W8A16")->activations, Activations::AsStored);
  EXPECT_EQ(modelOpt("NVFP4_AWQ")->deviations.at(0).what, "input_scale");
  auto awq = modelOpt("W4A8_AWQ");
  EXPECT_EQ(awq->activations, Activations::Float8PerTensor);
  EXPECT_EQ(awq->deviations.at(0).what, "weight_scale_2");
  auto fbgemm = parse(R"("quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0)");
  ASSERT_TRUE(succeeds(fbgemm));
  EXPECT_EQ(fbgemm->activations, Activations::Float8PerToken);
  EXPECT_EQ(fbgemm->deviations.at(0).stated, "1200");
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "fbgemm_fp8", "activation_scale_ub": 1e20)"),
                        "INGOT-E1006"));
}

TEST(QuantizationConfig, MalformedOnesHaveAPlace) {
  EXPECT_TRUE(failsWith(parse(R"("bits": 4)"), "INGOT-E1005"));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": 4)"), "INGOT-E1004"));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "gptq", "bits": 99)"), "INGOT-E1006"));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "gptq", "group_size": 0)"), "INGOT-E1006"));
  EXPECT_TRUE(failsWith(parse(R"("quant_method": "gptq", "sym": "yes")"), "INGOT-E1004"));
}

TEST(QuantizationConfig, CompanionFilesStandForTheirMethod) {
  TemporaryDirectory folder;
  folder.write("quantize_config.json", R"({"bits": 8, "group_size": 64})");
  auto root = Json::parse("{}", "config.json");
  ASSERT_TRUE(root);
  std::vector<std::filesystem::path> inputs;
  auto config = readQuantization(*root, folder.path(), inputs);
  ASSERT_TRUE(succeeds(config));
  EXPECT_EQ(config->method, "gptq");
  EXPECT_EQ(config->bits, 8u);
  EXPECT_EQ(inputs.size(), 1u);
  std::vector<std::filesystem::path> none;
  auto plain = readQuantization(*root, "/nonexistent", none);
  ASSERT_TRUE(succeeds(plain));
  EXPECT_FALSE(plain->isQuantized());
}

} // namespace
