// SPDX-License-Identifier: Apache-2.0
// What of a PEFT adapter's configuration is read, and its patterns over names of modules.
#include "compiler/checkpoint/config/Adapter.h"
#include "tests/unit/checkpoint/Fixtures.h"

using namespace ingot::checkpoint;
using namespace ingot::test;

static Expected<bool> matches(std::string_view pattern, std::string_view module) {
  auto compiled = ModulePattern::compile(pattern, "here");
  if (!compiled)
    return compiled.error();
  return compiled->matches(module);
}

TEST(ModulePattern, NamesAModuleOrItsEndBehindADot) {
  constexpr std::string_view module = "model.layers.10.self_attn.q_proj";
  for (const char *pattern :
       {"q_proj", "self_attn.q_proj", "model.layers.10.self_attn.q_proj", "^model.layers.10.*",
        ".*proj", R"(layers\.\d+\.self_attn\.(q|k)_proj)", "[^.]+", "layers.(?:0|10).*",
        "k_proj|q_proj", R"(layers.[0-9]{1,2}.\w+.q_proj$)"}) {
    auto found = matches(pattern, module);
    EXPECT_TRUE(found && *found) << pattern;
  }
  for (const char *pattern : {"proj", "q_pro", "layers.1", "^self_attn.q_proj", "self_attn",
                              "layers.1.self_attn.q_proj", ""}) {
    auto found = matches(pattern, module);
    EXPECT_TRUE(found && !*found) << pattern;
  }
}

TEST(ModulePattern, RefusesWhatItCannotReadAsPythonDoes) {
  for (const char *pattern : {"(?=q)q_proj", "(?i)q_proj", "(?P<a>q)", R"((q)\1)", R"(\Aq)", "q*+",
                              "q{,2}", "[[:alpha:]]", "(*COMMIT)q", "(q", "[q", "*q", "\\"})
    EXPECT_TRUE(failsWith(matches(pattern, "q_proj"), "INGOT-E1120", {"here"})) << pattern;
  EXPECT_TRUE(failsWith(matches(std::string(2000, 'q'), "q_proj"), "INGOT-E1120", {"longer"}));
}

TEST(ModulePattern, EndsWhereMatchingTakesTooLong) {
  EXPECT_TRUE(failsWith(matches("((.*)*)*[!?]", std::string(60, 'a')), "INGOT-E1120", {"steps"}));
  EXPECT_TRUE(failsWith(matches("q", std::string(5000, 'a')), "INGOT-E1120", {"longer"}));
}

static Expected<AdapterConfig> read(const std::string &members) {
  const TemporaryDirectory directory;
  return AdapterConfig::read(directory.write(
      "adapter_config.json", R"({"peft_type": "LORA", "r": 4, "lora_alpha": 8)" + members + "}"));
}

static std::vector<Tensor> factorsOf(std::initializer_list<std::string_view> modules,
                                     uint64_t rank) {
  std::vector<Tensor> tensors;
  for (const std::string_view module : modules)
    tensors.push_back({.name = adapterTensor(module, 'A'), .shape = {rank, 8}});
  return tensors;
}

TEST(AdapterConfig, TheFirstPatternOfTheFileCounts) {
  auto config = read(R"(, "alpha_pattern": {"q_proj": 2, "a.q_proj": 3, "b.*": 5, "x": 7})");
  ASSERT_TRUE(succeeds(config));
  ASSERT_TRUE(
      succeeds(config->settle(factorsOf({"a.q_proj", "b.q_proj", "b.v_proj", "c"}, 4), "weights")));
  EXPECT_EQ(config->scale("a.q_proj.weight", 4), 0.5);
  EXPECT_EQ(config->scale("b.q_proj.weight", 4), 0.5);
  EXPECT_EQ(config->scale("b.v_proj.weight", 4), 1.25);
  EXPECT_EQ(config->scale("c.weight", 4), 2);
  std::vector<std::string> unused;
  for (const AdapterPattern &pattern : config->patterns)
    if (!pattern.isUsed)
      unused.push_back(pattern.text);
  EXPECT_EQ(unused, (std::vector<std::string>{"a.q_proj", "x"}));
}

TEST(AdapterConfig, RanksAreThoseThatAreStated) {
  auto config = read(R"(, "rank_pattern": {"q_proj": 2}, "use_rslora": true)");
  ASSERT_TRUE(succeeds(config));
  EXPECT_TRUE(succeeds(config->settle(factorsOf({"a.q_proj"}, 2), "weights")));
  EXPECT_TRUE(succeeds(config->settle(factorsOf({"a.k_proj"}, 4), "weights")));
  EXPECT_EQ(config->scale("a.k_proj", 4), 4);
  for (const auto &[module, rank] : {std::pair("a.q_proj", 4), {"a.k_proj", 2}})
    EXPECT_TRUE(failsWith(config->settle(factorsOf({module}, rank), "weights"), "INGOT-E1080",
                          {module, "weights"}));
}

TEST(AdapterConfig, RefusesWhatIsMoreThanAProduct) {
  for (const char *key :
       {"use_dora", "fan_in_fan_out", "lora_bias", "use_qalora", "alora_invocation_tokens",
        "trainable_token_indices", "modules_to_save", "layer_replication", "arrow_config",
        "use_bdlora", "kasa_config", "monteclora_config", "target_parameters"}) {
    for (const char *used : {"true", "[1]", R"({"a": 1})"})
      EXPECT_TRUE(failsWith(read(message(", \"", key, "\": ", used)), "INGOT-E1120", {key}))
          << used;
    for (const char *unused : {"false", "null", "[]", "{}"})
      EXPECT_TRUE(succeeds(read(message(", \"", key, "\": ", unused)))) << key << unused;
  }
  for (const char *begin : {"pissa", "pissa_niter_16", "olora", "corda", "loftq", "lora_ga"})
    EXPECT_TRUE(failsWith(read(message(R"(, "init_lora_weights": ")", begin, "\"")), "INGOT-E1120",
                          {"init_lora_weights", begin}));
  for (const char *begin : {"true", "false", R"("gaussian")", R"("eva")", R"("orthogonal")"})
    EXPECT_TRUE(succeeds(read(message(R"(, "init_lora_weights": )", begin))));
}

TEST(AdapterConfig, FindsParametersOfStackedExperts) {
  const std::string layer = "base_model.model.model.layers.0.mlp.experts";
  auto named = [&](const std::string &targets, const std::string &stored) {
    auto config = read(", \"target_parameters\": [" + targets + "]");
    EXPECT_TRUE(succeeds(config));
    return config->tensorNamed(stored).value_or("none");
  };
  const std::string gateUp = R"("mlp.experts.gate_up_proj")", down = R"("mlp.experts.down_proj")";
  const std::string inner = layer + ".base_layer.lora_A.weight", outer = layer + ".lora_B.weight";
  EXPECT_EQ(named(gateUp + ", " + down, inner),
            "model.layers.0.mlp.experts.gate_up_proj.lora_A.weight");
  EXPECT_EQ(named(down + ", " + gateUp, outer),
            "model.layers.0.mlp.experts.down_proj.lora_B.weight");
  EXPECT_EQ(named(gateUp, outer), "model.layers.0.mlp.experts.gate_up_proj.lora_B.weight");
  EXPECT_EQ(named(down, outer), "model.layers.0.mlp.experts.down_proj.lora_B.weight");
  EXPECT_EQ(named(down, inner), "none");
  EXPECT_EQ(named(down, "base_model.model.a.q_proj.lora_A.weight"), "a.q_proj.lora_A.weight");
  EXPECT_EQ(named(down, "base_model.model.a.q_proj.base_layer.lora_A.weight"), "none");
  for (const char *targets : {R"(["mlp.experts.gate_up_proj_bias"])", R"("mlp.experts.down_proj")"})
    EXPECT_TRUE(failsWith(read(message(R"(, "target_parameters": )", targets)), "INGOT-E1120",
                          {"target_parameters"}));
  auto config = read(R"(, "target_parameters": ["mlp.experts.down_proj"])");
  const std::string_view module = "model.layers.0.mlp.experts.down_proj";
  EXPECT_TRUE(succeeds(config->settle(factorsOf({module}, 12), "weights", 3)));
  EXPECT_TRUE(failsWith(config->settle(factorsOf({module}, 4), "weights", 3), "INGOT-E1080"));
}

TEST(AdapterConfig, NamesWhatItDoesNotKnow) {
  auto known = read(R"(, "lora_dropout": 0.1, "target_modules": ["q_proj"], "r": 4)");
  EXPECT_TRUE(failsWith(known, "INGOT-E1003")); // r twice
  known = read(R"(, "lora_dropout": 0.1, "target_modules": ["q_proj"], "rank_pattern": {})");
  ASSERT_TRUE(succeeds(known));
  EXPECT_TRUE(known->deviations.empty());
  auto unknown = read(R"(, "use_sorcery": true, "moons": 2)");
  ASSERT_TRUE(succeeds(unknown));
  ASSERT_EQ(unknown->deviations.size(), 1u);
  EXPECT_EQ(unknown->deviations[0].stated, "moons, use_sorcery");
  EXPECT_TRUE(unknown->deviations[0].isTold);
}

TEST(AdapterConfig, RefusesNumbersThatAreNone) {
  EXPECT_TRUE(failsWith(read(R"(, "alpha_pattern": {"q": "2"})"), "INGOT-E1004", {"q"}));
  EXPECT_TRUE(failsWith(read(R"(, "alpha_pattern": ["q"])"), "INGOT-E1004", {"alpha_pattern"}));
  EXPECT_TRUE(failsWith(read(R"(, "rank_pattern": {"q": 0})"), "INGOT-E1006", {"rank_pattern"}));
}

/// Patterns and matrices in numbers that would take minutes.
TEST(AdapterConfig, RefusesTooManyPatterns) {
  std::string patterns;
  for (int i = 0; i < 2000; ++i)
    patterns += (i ? ", \"x" : "\"x") + std::to_string(i) + "\": 1";
  auto config = read(", \"alpha_pattern\": {" + patterns + "}");
  ASSERT_TRUE(succeeds(config));
  const std::vector<Tensor> tensors(1000, factorsOf({"q"}, 4)[0]);
  EXPECT_TRUE(failsWith(config->settle(tensors, "weights"), "INGOT-E1120", {"too many"}));
}
