// SPDX-License-Identifier: Apache-2.0
// Perplexities of engines in f32 within 0.1 % of those that other programs computed: in f64, by the
// transformers library, and by llama.cpp, each under its own windowing; with quantized weights,
// within 0.5 % of llama.cpp's, which multiplies them by activations of eight bits.
#include "tests/e2e/Perplexity.h"
#include "tests/e2e/BuiltEngines.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ingot::e2e {
namespace {

constexpr double tolerance = 1e-3; ///< of the figure, in f32

/// The engine of a model for this machine, with one sequence and one thread: results depend on
/// neither, and a test shares its machine.
Engine open(const std::filesystem::path &model, std::string_view recipe = f32Recipe) {
  Options options;
  options.threads = 1;
  options.max_sequences = 1;
  return Engine(builtEngine({model, std::string(recipe), hostTarget}), options);
}

/// A row of llamacpp_perplexity.tsv: `model`, `text` and `ctx` as written there.
struct LlamaCppRow {
  std::string model, text, context;
  double perplexity = 0;
};

std::vector<LlamaCppRow> llamaCppRows() {
  std::vector<LlamaCppRow> rows;
  std::istringstream file(readText(sharedData("llamacpp_perplexity.tsv")));
  std::string line;
  std::getline(file, line); // the heading
  while (std::getline(file, line)) {
    LlamaCppRow row;
    std::istringstream fields(line);
    std::string result;
    std::getline(fields, row.model, '\t');
    std::getline(fields, row.text, '\t');
    std::getline(fields, row.context, '\t');
    std::getline(fields, result, '\t');
    constexpr std::string_view before = "PPL = ";
    row.perplexity = std::stod(result.substr(result.find(before) + before.size()));
    rows.push_back(row);
  }
  return rows;
}

/// The row's perplexity, computed here from a folder or file of the test data.
double measured(const std::string &model, const LlamaCppRow &row, std::string_view recipe) {
  size_t length = std::stoul(row.context);
  constexpr std::string_view chunks = "--chunks ";
  size_t found = row.context.find(chunks);
  size_t most =
      found == std::string::npos ? SIZE_MAX : std::stoul(row.context.substr(found + chunks.size()));
  Engine engine = open(sharedData(model), recipe);
  return perplexity(engine, engine.tokenize(readText(sharedData(row.text))),
                    llamaCppWindowing(length, most));
}

/// Compares the rows of `model` with short or with long texts; at least one must be there. `path`:
/// the model in the test data.
void compareRows(const std::string &model, const std::string &path, bool longTexts,
                 std::string_view recipe = f32Recipe, double share = tolerance) {
  size_t compared = 0;
  for (const LlamaCppRow &row : llamaCppRows()) {
    bool isLong = row.text.find("tinystories") == std::string::npos;
    if (row.model != model || isLong != longTexts)
      continue;
    double actual = measured(path, row, recipe);
    std::printf("%s, %s, %s: %.4f, llama.cpp %.4f\n", row.model.c_str(), row.text.c_str(),
                row.context.c_str(), actual, row.perplexity);
    EXPECT_NEAR(actual, row.perplexity, share * row.perplexity) << row.text << row.context;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST(PerplexityTest, TinyStoriesEqualsItsFigureInF64) {
  INGOT_NEED_SHARED_DATA();
  auto index = nlohmann::json::parse(readText(sharedData("quantized/INDEX.json")));
  double wanted = index.at("plain-f32").at("ppl_fp64_first_1024_tok_ctx256_second_half");
  Engine engine = open(sharedData("TinyStories-656K"));
  std::vector<int32_t> tokens = engine.tokenize(
      readText(sharedData("text/tinystories_train_head_ascii.txt")), /*addSpecial=*/false);
  tokens.resize(1024);
  // 255 tokens after a BOS, and of these 256 the second half without its first.
  Windowing windowing = llamaCppWindowing(256);
  windowing.start = WindowStart::BosInFront;
  EXPECT_NEAR(perplexity(engine, tokens, windowing), wanted, tolerance * wanted);
}

TEST(LongPerplexityTest, FablesHeldOutTextEqualsTransformers) {
  auto golden = nlohmann::json::parse(readText(fablesModel().parent_path() / "golden.json"));
  const auto &entry = golden.at("perplexities").at(0);
  Engine engine = open(fablesModel());
  Windowing windowing;
  windowing.length = entry.at("window");
  windowing.keepShortWindow = true;
  std::vector<int32_t> tokens =
      engine.tokenize(readText(fablesModel().parent_path() / "heldout.txt"), true, true);
  EXPECT_EQ(tokens.size(), golden.at("about").at("heldout_stream_tokens").get<size_t>());
  double wanted = entry.at("perplexity");
  EXPECT_NEAR(perplexity(engine, tokens, windowing), wanted, tolerance * wanted);
}

TEST(PerplexityTest, TinyStoriesEqualsLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareRows("TinyStories-656K.f32", "TinyStories-656K", false);
}

TEST(PerplexityTest, GgufFilesEqualLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  for (const char *name : {"TinyStories-656K.F16", "TinyStories-656K.BF16"})
    compareRows(name, std::string("gguf/") + name + ".gguf", false);
}

TEST(LongPerplexityTest, GgufFileInF32EqualsLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareRows("TinyStories-656K.f32", "gguf/TinyStories-656K.f32.gguf", false);
}

/// Compares the rows of GGUF files whose weights stay as they are stored.
void compareQuantized(std::initializer_list<const char *> names) {
  for (std::string name : names)
    compareRows(name, "gguf/" + name + ".gguf", false, storedRecipe, 5e-3);
}

TEST(PerplexityTest, QuantizedGgufFilesAreNearLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareQuantized({"rot256.Q4_K_M"});
}

TEST(LongPerplexityTest, QuantizedGgufFilesAreNearLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareQuantized({"TinyStories-656K.Q8_0", "TinyStories-656K.Q5_0", "TinyStories-656K.Q4_1",
                    "TinyStories-656K.Q4_0", "TinyStories-656K.IQ4_NL", "TinyStories-656K.Q4_K_M",
                    "rot256.Q8_0", "rot256.Q6_K", "rot256.Q5_K_M", "rot256.Q4_K_S", "rot256.Q2_K"});
}

TEST(PerplexityTest, Stories260KEqualsLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareRows("stories260K.f32", "stories260K-hf", false);
}

TEST(PerplexityTest, Rot256EqualsLlamaCpp) {
  INGOT_NEED_SHARED_DATA();
  compareRows("rot256.f32", "TinyStories-656K-rot256", false);
}

TEST(LongPerplexityTest, Stories260KEqualsLlamaCppOnLongTexts) {
  INGOT_NEED_SHARED_DATA();
  compareRows("stories260K.f32", "stories260K-hf", true);
}

} // namespace
} // namespace ingot::e2e
