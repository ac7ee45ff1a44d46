// SPDX-License-Identifier: Apache-2.0
// Recipes: reading, matching, the canonical text, and every refusal.
#include "compiler/recipe/Presets.h"
#include "compiler/recipe/RecipeWords.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <algorithm>
#include <sstream>

using namespace ingot::recipe;
using namespace ingot::test;
using ingot::checkpoint::message;

static Expected<Recipe> parse(const std::string &text) { return Recipe::parse(text, "r.yaml"); }

/// A recipe whose only rule has these keys.
static Expected<Recipe> withRule(std::string_view keys) {
  return parse(message("version: 1\nweights:\n  - {match: \"*\", ", keys, "}\n"));
}

static const char *const full = R"(version: 1
weights:
  - match: "lm_head*"
    format: bf16
  - match: "*"
    format: int4
    group: 64
    zero_points: false
activations: {compute: int8-dynamic, store: bf16, group: token}
kv_cache: int8
)";

TEST(Recipe, ReadsAFullOne) {
  auto recipe = parse(full);
  ASSERT_TRUE(succeeds(recipe));
  ASSERT_EQ(recipe->weights.size(), 2u);
  EXPECT_EQ(recipe->formatFor("lm_head.weight"), WeightFormat{.type = NumberFormat::BF16});
  EXPECT_EQ(recipe->formatFor("model.norm.weight"),
            (WeightFormat{.type = NumberFormat::Int4, .group = 64}));
  EXPECT_EQ(recipe->activations, (Activations{NumberFormat::Int8, NumberFormat::BF16}));
  EXPECT_EQ(recipe->kvCache, NumberFormat::Int8);
  EXPECT_EQ(recipe->str(), full);
}

TEST(Recipe, DefaultsAreTheCheckpointsOwn) {
  auto recipe = parse("version: 1\n");
  ASSERT_TRUE(succeeds(recipe));
  EXPECT_EQ(*recipe, Recipe::defaults());
  EXPECT_EQ(recipe->formatFor("any").type, NumberFormat::Stored);
  EXPECT_EQ(recipe->activations, (Activations{NumberFormat::Stored, NumberFormat::Stored}));
  EXPECT_EQ(recipe->kvCache, NumberFormat::Stored);
  EXPECT_EQ(Recipe::defaults().settled(NumberFormat::BF16).str(),
            "version: 1\nweights: []\nactivations: bf16\nkv_cache: bf16\n");
  EXPECT_EQ(Recipe::defaults().settled(NumberFormat::F32).str(),
            "version: 1\nweights: []\nactivations: f32\nkv_cache: f32\n");
}

TEST(Recipe, SettlesOnlyWhatIsStored) {
  auto recipe = parse("version: 1\nactivations: int8-dynamic\nkv_cache: e4m3\n");
  ASSERT_TRUE(succeeds(recipe));
  EXPECT_EQ(recipe->settled(NumberFormat::F16).activations,
            (Activations{NumberFormat::Int8, NumberFormat::F16}));
  EXPECT_EQ(recipe->settled(NumberFormat::F16).kvCache, NumberFormat::E4M3);
  EXPECT_EQ(parse("version: 1\nkv_cache: fp8\n")->kvCache, NumberFormat::E4M3);
  EXPECT_EQ(parse("version: 1\nkv_cache: fp8-static\n")->kvCache, NumberFormat::E4M3Static);
  auto full32 = parse("version: 1\nactivations: f32\nkv_cache: f32\n");
  ASSERT_TRUE(succeeds(full32));
  EXPECT_EQ(full32->settled(NumberFormat::BF16), *full32);
}

TEST(Recipe, ReadsEveryWeightFormat) {
  auto format = [](std::string_view keys) {
    auto recipe = withRule(keys);
    EXPECT_TRUE(succeeds(recipe)) << keys;
    return recipe ? recipe->formatFor("w") : WeightFormat{};
  };
  using enum NumberFormat;
  EXPECT_EQ(format("format: stored"), WeightFormat{.type = Stored});
  EXPECT_EQ(format("format: f32"), WeightFormat{.type = F32});
  EXPECT_EQ(format("format: bf16"), WeightFormat{.type = BF16});
  EXPECT_EQ(format("format: \"f16\""), WeightFormat{.type = F16});
  EXPECT_EQ(format("format: int8"), WeightFormat{.type = Int8});
  EXPECT_EQ(format("format: int4"), (WeightFormat{.type = Int4, .group = 64}));
  EXPECT_EQ(format("format: int4, group: 32"), (WeightFormat{.type = Int4, .group = 32}));
  EXPECT_EQ(format("format: int4, group: 128, zero_points: true"),
            (WeightFormat{.type = Int4, .group = 128, .zeroPoints = true}));
  EXPECT_EQ(format("format: int4, group: channel"),
            (WeightFormat{.type = Int4, .group = kWholeRow}));
  for (auto [name, type] : {std::pair{"int3", Int3}, {"int5", Int5}, {"int6", Int6}}) {
    EXPECT_EQ(format(message("format: ", name)), (WeightFormat{.type = type, .group = 64}));
    EXPECT_EQ(format(message("format: ", name, ", group: 32, zero_points: true")),
              (WeightFormat{.type = type, .group = 32, .zeroPoints = true}));
  }
  for (auto [name, type] :
       {std::pair{"nf4", NF4}, {"fp4", FP4}, {"nvfp4", NVFP4}, {"mxfp4", MXFP4}}) {
    EXPECT_EQ(format(message("format: ", name)), WeightFormat{.type = type});
    EXPECT_TRUE(failsWith(withRule(message("format: ", name, ", group: 32")), "INGOT-E2008"));
  }
  EXPECT_EQ(format("format: fp8"), (WeightFormat{.type = E4M3, .group = kWholeRow}));
  EXPECT_EQ(format("format: fp8, scale: tensor"),
            (WeightFormat{.type = E4M3, .group = kWholeTensor}));
}

TEST(Recipe, ReadsEveryActivationFormat) {
  using enum NumberFormat;
  for (auto [text, expected] :
       {std::pair{"stored", Activations{Stored, NumberFormat::Stored}},
        {"f32", Activations{F32, NumberFormat::F32}},
        {"bf16", Activations{BF16, NumberFormat::BF16}},
        {"f16", Activations{F16, NumberFormat::F16}},
        {"{compute: f16}", Activations{F16, NumberFormat::F16}},
        {"int8-dynamic", Activations{Int8, NumberFormat::Stored}},
        {"fp8-dynamic", Activations{E4M3, NumberFormat::Stored}},
        {"int8-static", Activations{Int8Static, NumberFormat::Stored}},
        {"{compute: fp8-static, store: bf16}", Activations{E4M3Static, NumberFormat::BF16}},
        {"{compute: fp8-dynamic}", Activations{E4M3, NumberFormat::Stored}},
        {"{compute: int8-dynamic, group: 64}", Activations{Int8, NumberFormat::Stored, 64}},
        {"{compute: int8-dynamic, group: token}", Activations{Int8, NumberFormat::Stored}},
        {"{compute: fp8-dynamic, store: f16}", Activations{E4M3, NumberFormat::F16}}}) {
    auto recipe = parse(message("version: 1\nactivations: ", text, "\n"));
    ASSERT_TRUE(succeeds(recipe)) << text;
    EXPECT_EQ(recipe->activations, expected) << text;
  }
}

TEST(Recipe, ReadsEveryKvFormat) {
  for (const RecipeWord &word : words()) {
    if (!(word.keys & KvCache))
      continue;
    auto recipe = parse(message("version: 1\nkv_cache: ", word.text, "\n"));
    ASSERT_TRUE(succeeds(recipe)) << word.text;
    EXPECT_EQ(static_cast<int32_t>(recipe->kvCache), word.value) << word.text;
  }
  EXPECT_EQ(wordFor(KvCache, NumberFormat::E4M3), "e4m3");
  EXPECT_EQ(wordFor(KvCache, NumberFormat::E4M3Static), "e4m3-static");
}

TEST(Recipe, ReadsEveryAttentionFormat) {
  auto stored = parse("version: 1\nattention: stored\n");
  ASSERT_TRUE(succeeds(stored));
  EXPECT_EQ(*stored, Recipe::defaults());
  auto fp8 = parse("version: 1\nattention: fp8\n");
  ASSERT_TRUE(succeeds(fp8));
  EXPECT_EQ(fp8->attention, NumberFormat::E4M3);
  EXPECT_EQ(*parse(fp8->str()), *fp8);
  EXPECT_TRUE(failsWith(parse("version: 1\nattention: fp4\n"), "INGOT-E2007"));
}

TEST(Recipe, ItsTextReadsBackAsItself) {
  std::vector<WeightFormat> formats;
  using enum NumberFormat;
  for (NumberFormat type : {Stored, F32, BF16, F16, Int8, NF4, FP4, NVFP4, MXFP4})
    formats.push_back({.type = type});
  for (NumberFormat type : {Int3, Int4, Int5, Int6})
    for (int32_t group : {32, 64, 128, kWholeRow})
      for (bool zeroPoints : {false, true})
        formats.push_back({.type = type, .group = group, .zeroPoints = zeroPoints});
  for (int32_t group : {kWholeRow, kWholeTensor})
    formats.push_back({.type = E4M3, .group = group});
  Recipe recipe;
  for (const WeightFormat &format : formats)
    recipe.weights.push_back({message("layer.", recipe.weights.size(), ".*#?:-'&%"), format});
  for (NumberFormat compute :
       {NumberFormat::Int8, NumberFormat::E4M3, NumberFormat::Int8Static, NumberFormat::E4M3Static})
    for (NumberFormat store : {NumberFormat::F32, NumberFormat::BF16, NumberFormat::F16}) {
      recipe.activations = {compute, store};
      auto again = parse(recipe.str());
      ASSERT_TRUE(succeeds(again));
      EXPECT_EQ(*again, recipe);
      EXPECT_EQ(again->str(), recipe.str());
    }
  for (int32_t group : {32, 64, 128}) {
    recipe.activations = {NumberFormat::Int8, NumberFormat::BF16, group};
    auto again = parse(recipe.str());
    ASSERT_TRUE(succeeds(again));
    EXPECT_EQ(*again, recipe);
  }
}

TEST(Recipe, PatternsMatchWholeNames) {
  EXPECT_TRUE(matchesPattern("*", ""));
  EXPECT_TRUE(matchesPattern("*", "model.norm.weight"));
  EXPECT_TRUE(matchesPattern("model.layers.*.mlp.*", "model.layers.10.mlp.up_proj.weight"));
  EXPECT_FALSE(matchesPattern("model.layers.*.mlp.*", "model.layers.10.self_attn.q_proj.weight"));
  EXPECT_TRUE(matchesPattern("lm_head*", "lm_head.weight"));
  EXPECT_FALSE(matchesPattern("lm_head", "lm_head.weight"));
  EXPECT_FALSE(matchesPattern("head*", "lm_head.weight"));
  EXPECT_TRUE(matchesPattern("model.layers.?.*", "model.layers.1.x"));
  EXPECT_FALSE(matchesPattern("model.layers.?.*", "model.layers.11.x"));
  EXPECT_FALSE(matchesPattern("?", ""));
  EXPECT_TRUE(matchesPattern("*a*b*", "xxaxxabx"));
  EXPECT_FALSE(matchesPattern("*a*b*c", "xxaxxabx"));
  EXPECT_FALSE(matchesPattern(std::string(100, '*') + "b", std::string(10000, 'a')));
}

TEST(Recipe, ReportsRulesThatDecideNothing) {
  auto recipe = parse(R"(version: 1
weights:
  - {match: "model.*", format: bf16}
  - {match: "model.norm.*", format: f32}
  - {match: "lm_haed*", format: f16}
  - {match: "*", format: int8}
)");
  ASSERT_TRUE(succeeds(recipe));
  std::vector<std::string> names = {"model.norm.weight", "model.embed.weight", "lm_head.weight"};
  auto unused = recipe->unusedRules(names);
  ASSERT_EQ(unused.size(), 2u);
  EXPECT_EQ(unused[0].rule, 1u);
  EXPECT_TRUE(unused[0].shadowed);
  EXPECT_EQ(unused[1].rule, 2u);
  EXPECT_FALSE(unused[1].shadowed);
}

TEST(Recipe, RulesReachPartsThatSeeByTheirNameAlone) {
  auto recipe = parse(R"(version: 1
weights:
  - {match: "*", format: int4}
  - {match: "vision.merger.*", format: int8}
  - {match: "vision.nothing", format: int8}
)");
  ASSERT_TRUE(succeeds(recipe));
  EXPECT_EQ(recipe->formatFor("vision.merger.linear_fc1.weight").type, NumberFormat::Int8);
  EXPECT_EQ(recipe->formatFor("vision.blocks.0.attn.qkv.weight").type, NumberFormat::Stored);
  EXPECT_EQ(recipe->formatFor("model.vision.weight").type, NumberFormat::Int4);
  std::vector<std::string> names = {"model.norm.weight", "vision.merger.linear_fc1.weight"};
  auto unused = recipe->unusedRules(names);
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_EQ(unused[0].rule, 2u);
  EXPECT_FALSE(unused[0].shadowed);
  auto withFormat = [](std::string_view format) {
    return parse(message("version: 1\nweights: [{match: vision.*, format: ", format, "}]\n"));
  };
  for (std::string_view format : {"f16", "nf4", "fp4", "nvfp4", "mxfp4"})
    EXPECT_TRUE(failsWith(withFormat(format), "INGOT-E2014", {std::string(format), "r.yaml:2:"}));
  EXPECT_TRUE(succeeds(withFormat("fp8")));
}

/// As a search writes it for a model of 126 layers.
TEST(Recipe, HoldsARuleForEachMatrixOfALargeModel) {
  std::string text = "version: 1\nweights:\n";
  for (int i = 0; i < 7 * 126; ++i)
    text += "  # " + std::string(160, '.') + "\n  - match: \"model.layers." + std::to_string(i) +
            ".self_attn.q_proj.weight\"\n    format: int4\n    group: 128\n    zero_points: true\n";
  auto recipe = parse(text);
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->weights.size(), 882u);
}

TEST(Recipe, RefusesBadYaml) {
  EXPECT_TRUE(failsWith(parse("version: 1\nweights: [\n"), "INGOT-E2001", {"r.yaml:"}));
  EXPECT_TRUE(failsWith(parse("version: 1\n\tkv_cache: f32\n"), "INGOT-E2001", {"r.yaml:2:"}));
  EXPECT_TRUE(
      failsWith(parse("version: &v 1\nkv_cache: f32\n"), "INGOT-E2002", {"anchors", ":1:"}));
  EXPECT_TRUE(failsWith(parse("version: !!int 1\n"), "INGOT-E2002", {"tag"}));
  EXPECT_TRUE(failsWith(parse("version: 1\n---\nversion: 1\n"), "INGOT-E2002", {"documents"}));
  EXPECT_TRUE(failsWith(parse("version: " + std::string(20, '[') + std::string(20, ']')),
                        "INGOT-E2002", {"16 levels"}));
  EXPECT_TRUE(failsWith(parse(std::string((1 << 20) + 1, '#')), "INGOT-E2002", {"bytes"}));
  EXPECT_TRUE(failsWith(parse("version: 1\nkv_cache: f32\nkv_cache: f16\n"), "INGOT-E2004",
                        {"r.yaml:3:1", "line 2"}));
  EXPECT_TRUE(failsWith(parse("version: 1\n[a]: f32\n"), "INGOT-E2006", {"key"}));
  std::string many = "version: 1\nweights:\n";
  for (int i = 0; i < 4097; ++i)
    many += "  - {match: a, format: f32}\n";
  EXPECT_TRUE(failsWith(parse(many), "INGOT-E2002", {"4096 rules"}));
}

TEST(Recipe, RefusesUnknownKeys) {
  EXPECT_TRUE(failsWith(parse("version: 1\nkv_cahce: f32\n"), "INGOT-E2003",
                        {"r.yaml:2:1", "did you mean \"kv_cache\""}));
  EXPECT_TRUE(failsWith(withRule("fromat: f32"), "INGOT-E2003", {"did you mean \"format\""}));
  EXPECT_TRUE(failsWith(parse("version: 1\nactivations: {compute: f32, xyz: 1}\n"), "INGOT-E2003",
                        {"r.yaml:2:29", "compute, store, group"}));
}

TEST(Recipe, RefusesMissingKeysAndWrongKinds) {
  EXPECT_TRUE(failsWith(parse("kv_cache: f32\n"), "INGOT-E2005", {"\"version\""}));
  EXPECT_TRUE(failsWith(withRule(""), "INGOT-E2005", {"\"format\""}));
  EXPECT_TRUE(failsWith(parse("version: 1\nweights: [{format: f32}]\n"), "INGOT-E2005",
                        {"\"match\"", "r.yaml:2:11"}));
  EXPECT_TRUE(
      failsWith(parse("version: 1\nactivations: {store: f32}\n"), "INGOT-E2005", {"\"compute\""}));
  EXPECT_TRUE(failsWith(parse(""), "INGOT-E2006"));
  EXPECT_TRUE(failsWith(parse("- version\n"), "INGOT-E2006"));
  EXPECT_TRUE(failsWith(parse("version: 1\nweights: int4\n"), "INGOT-E2006", {"r.yaml:2:10"}));
  EXPECT_TRUE(failsWith(parse("version: 1\nweights: [int4]\n"), "INGOT-E2006"));
  EXPECT_TRUE(failsWith(parse("version: [1]\n"), "INGOT-E2006"));
  EXPECT_TRUE(failsWith(parse("version: 1\nkv_cache:\n"), "INGOT-E2006"));
  EXPECT_TRUE(failsWith(withRule("format: [int4]"), "INGOT-E2006"));
}

TEST(Recipe, RefusesUnknownValues) {
  EXPECT_TRUE(
      failsWith(withRule("format: in4"), "INGOT-E2007", {"did you mean \"int4\"", "r.yaml:3:"}));
  EXPECT_TRUE(
      failsWith(withRule("format: int4, group: 48"), "INGOT-E2007", {"32, 64, 128, channel"}));
  EXPECT_TRUE(failsWith(parse("version: 1\nactivations: {compute: int8-dynamic, group: channel}\n"),
                        "INGOT-E2007", {"32, 64, 128, token"}));
  EXPECT_TRUE(failsWith(withRule("format: int4, zero_points: yes"), "INGOT-E2007"));
  EXPECT_TRUE(failsWith(withRule("format: int4, zero_points: \"true\""), "INGOT-E2007"));
  EXPECT_TRUE(failsWith(withRule("format: fp8, scale: row"), "INGOT-E2007"));
  EXPECT_TRUE(failsWith(parse("version: 1\nactivations: int8\n"), "INGOT-E2007", {"int8-dynamic"}));
  EXPECT_TRUE(failsWith(parse("version: 1\nkv_cache: f8\n"), "INGOT-E2007", {"e4m3"}));
  EXPECT_TRUE(failsWith(parse("version: 2\n"), "INGOT-E2009", {"version 1"}));
}

TEST(Recipe, RefusesKeysThatDoNotGoTogether) {
  EXPECT_TRUE(failsWith(withRule("format: bf16, group: 64"), "INGOT-E2008",
                        {"group belongs to format int3, int4, int5, int6"}));
  EXPECT_TRUE(failsWith(withRule("format: int8, zero_points: true"), "INGOT-E2008"));
  EXPECT_TRUE(failsWith(withRule("format: int8, scale: channel"), "INGOT-E2008", {"fp8"}));
  EXPECT_TRUE(failsWith(parse("version: 1\nactivations: {compute: bf16, store: bf16}\n"),
                        "INGOT-E2008", {"store"}));
  for (std::string_view compute : {"bf16", "fp8-dynamic", "int8-static"})
    EXPECT_TRUE(
        failsWith(parse(message("version: 1\nactivations: {compute: ", compute, ", group: 64}\n")),
                  "INGOT-E2008", {"int8-dynamic"}));
}

TEST(Recipe, RefusesBadPatterns) {
  for (std::string_view pattern : {"", "a b", "a[0-9]", "{a,b}", "\xc3\xa4", "!a"})
    EXPECT_TRUE(failsWith(
        parse(message("version: 1\nweights: [{match: \"", pattern, "\", format: f32}]\n")),
        "INGOT-E2010"))
        << pattern;
  EXPECT_TRUE(failsWith(
      parse("version: 1\nweights: [{match: " + std::string(257, 'a') + ", format: f32}]\n"),
      "INGOT-E2010", {"257"}));
}

TEST(Recipe, ReadsFiles) {
  TemporaryDirectory directory;
  auto recipe = Recipe::read(directory.write("r.yaml", full));
  ASSERT_TRUE(succeeds(recipe));
  EXPECT_EQ(recipe->str(), full);
  EXPECT_TRUE(failsWith(Recipe::read(directory.path() / "absent"), "INGOT-E7001"));
}

// Every example of the manual is a recipe.
TEST(Recipe, ReadsTheExamplesOfItsManual) {
  std::ifstream manual(std::filesystem::path(INGOT_SOURCE_DIR) / "docs/recipes.md");
  ASSERT_TRUE(manual.good());
  std::string line, example;
  bool inside = false;
  size_t examples = 0;
  while (std::getline(manual, line)) {
    if (!line.starts_with("```")) {
      if (inside)
        example += line + "\n";
      continue;
    }
    if (inside) {
      EXPECT_TRUE(succeeds(parse(example))) << example;
      ++examples;
    }
    inside = line == "```yaml";
    example.clear();
  }
  EXPECT_GE(examples, 6u);
}

/// The lines of the manual below a heading, up to the next of the same rank.
static std::string sectionOfManual(const std::string &heading) {
  std::ifstream manual(std::filesystem::path(INGOT_SOURCE_DIR) / "docs/recipes.md");
  std::string line, text;
  bool inside = false;
  while (std::getline(manual, line)) {
    if (line.starts_with("## "))
      inside = line == heading;
    else if (inside)
      text += line + "\n";
  }
  EXPECT_FALSE(text.empty()) << heading;
  return text;
}

/// What stands between backquotes in the first column of its tables.
static std::vector<std::string> firstColumn(const std::string &section) {
  std::vector<std::string> cells;
  std::istringstream lines(section);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `"))
      continue;
    std::string cell = line.substr(1, line.find(" |", 2) - 1);
    for (size_t at = cell.find('`'); at != cell.npos; at = cell.find('`', at + 1)) {
      size_t end = cell.find('`', at + 1);
      cells.push_back(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return cells;
}

/// Whether the manual's section explains the keys and all of their words, and its tables no others.
template <class Section>
static void expectExplained(const std::string &heading, std::span<const RecipeKey<Section>> keys) {
  std::string section = sectionOfManual(heading);
  auto explains = [&](std::string_view word) {
    return section.find(message("`", word, "`")) != section.npos;
  };
  for (const RecipeKey<Section> &key : keys) {
    EXPECT_TRUE(explains(key.name) || heading == message("## `", key.name, "`")) << key.name;
    for (const RecipeWord &word : words())
      EXPECT_TRUE(!(word.keys & key.bit) || explains(word.text)) << key.name << ": " << word.text;
  }
  for (const std::string &cell : firstColumn(section)) {
    bool isKnown = std::ranges::any_of(words(), [&](const RecipeWord &word) {
      return word.text == cell && (word.keys & keys.front().bit);
    });
    EXPECT_TRUE(isKnown || cell == keys.front().name) << heading << " has " << cell;
  }
}

TEST(Recipe, ItsManualHasEveryWord) {
  expectExplained<WeightFormat>("## `weights`", kWeightKeys);
  expectExplained<Activations>("## `activations`", kActivationKeys);
  for (const RecipeKey<Recipe> &key : kRecipeKeys)
    expectExplained<Recipe>(message("## `", key.name, "`"), {&key, 1});
  EXPECT_EQ(firstColumn("| a | `b` |\n| `c`, `d` (default) | `e` |\n"),
            (std::vector<std::string>{"c", "d"}));
}

TEST(Recipe, EveryWordIsTaken) {
  auto isValue = [](const RecipeWord &word, const auto &keys) {
    return std::ranges::any_of(keys, [&](const auto &key) { return word.keys & key.bit; });
  };
  for (const RecipeWord &word : words())
    EXPECT_TRUE(isValue(word, kWeightKeys) || isValue(word, kActivationKeys) ||
                isValue(word, kRecipeKeys))
        << word.text;
}

TEST(Presets, AreRecipes) {
  for (const Preset &preset : presets()) {
    auto parsed = parse(std::string(preset.text));
    ASSERT_TRUE(succeeds(parsed)) << preset.name;
    auto found = presetOrFile(preset.name);
    ASSERT_TRUE(succeeds(found));
    EXPECT_EQ(presetCalled(preset.name), *found);
    std::vector<WeightRule> &rules = found->weights;
    if (preset.sensitive)
      rules.erase(rules.begin(), rules.begin() + std::ssize(sensitiveParts()));
    EXPECT_EQ(*found, *parsed);
  }
  EXPECT_EQ(*presetCalled("exact"), Recipe::defaults());
  EXPECT_EQ(presetCalled("int4")->formatFor("model.embed_tokens.weight").type, NumberFormat::Int8);
  EXPECT_EQ(presetCalled("w4a8")->activations.group, 32);
}

TEST(Presets, OfFourBitsHoldSensitivePartsInEight) {
  const std::string sensitive = "model.language_model.layers.0.linear_attn.out_proj.weight",
                    other = "model.language_model.layers.0.linear_attn.in_proj_z.weight";
  for (const Preset &preset : presets()) {
    Recipe recipe = *presetCalled(preset.name);
    const NumberFormat type = recipe.formatFor(other).type;
    const bool hasFourBits = isFourBitFloat(type) || type == NumberFormat::Int4;
    EXPECT_EQ(isSensitive(recipe, sensitive), hasFourBits) << preset.name;
    EXPECT_FALSE(isSensitive(recipe, other)) << preset.name;
    EXPECT_EQ(recipe.formatFor(sensitive).type, hasFourBits ? *preset.sensitive : type)
        << preset.name;
    EXPECT_EQ(*parse(recipe.str()), recipe) << preset.name;
    keepSensitive(recipe);
    EXPECT_EQ(recipe.formatFor(sensitive).type, hasFourBits ? NumberFormat::Stored : type);
    EXPECT_EQ(recipe.formatFor(other).type, type);
  }
  EXPECT_EQ(presetCalled("w4a16-gptq")->formatFor(sensitive).type, NumberFormat::Int8);
  // Layouts of these codebooks have no integers.
  EXPECT_EQ(presetCalled("nf4")->formatFor(sensitive).type, NumberFormat::Stored);
  // A rule that says otherwise is no such rule, wherever it stands.
  auto own = parse("version: 1\nweights: [{match: \"*\", format: int4}]\n");
  ASSERT_TRUE(succeeds(own));
  EXPECT_EQ(own->formatFor(sensitive).type, NumberFormat::Int4);
  EXPECT_FALSE(isSensitive(*own, sensitive));
}

TEST(Presets, GiveWayToFilesInFolders) {
  EXPECT_FALSE(presetCalled("int5"));
  EXPECT_TRUE(failsWith(presetOrFile("int5"), "INGOT-E2012", {"did you mean", "exact, bf16"}));
  EXPECT_TRUE(failsWith(presetOrFile("./int4"), "INGOT-E7001", {"./int4"}));
  EXPECT_TRUE(failsWith(presetOrFile("int4.yaml"), "INGOT-E7001", {"int4.yaml"}));
  TemporaryDirectory directory;
  auto recipe = presetOrFile(directory.write("int4", full));
  ASSERT_TRUE(succeeds(recipe));
  EXPECT_EQ(recipe->str(), full);
}
