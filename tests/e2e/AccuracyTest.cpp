// SPDX-License-Identifier: Apache-2.0
// What each number format costs in perplexity, against bounds and as a table (docs/accuracy.md).
#include "tests/e2e/BuiltEngines.h"
#include "tests/e2e/Perplexity.h"

#include <gtest/gtest.h>

namespace ingot::e2e {
namespace {

/// One row: a recipe, and by how much of the f32 figure it may be worse.
struct Format {
  const char *name;
  const char *match; ///< which weights; the others stay as stored
  const char *weights;
  const char *activations;
  const char *kvCache;
  double bound;
};

constexpr const char *everything = "*";
/// Fewer than 8 bits are for the layers: in a tied embedding they cost more than in all layers
/// together.
constexpr const char *layers = "model.layers.*";

constexpr Format f32 = {"f32", everything, "f32", "f32", "f32", 0};

/// The formats of the default run: one of each kind.
constexpr Format shortList[] = {
    {"bf16", everything, "bf16", "bf16", "bf16", 0.002},
    {"int8", everything, "int8", "f32", "f32", 0.01},
    {"int4, groups of 32", layers, "int4, group: 32", "f32", "f32", 0.08},
    {"int5, groups of 32, zero points", layers, "int5, group: 32, zero_points: true", "f32", "f32",
     0.02},
    {"int8, int8-dynamic", everything, "int8", "{compute: int8-dynamic, store: f32}", "int8", 0.02},
    {"int8, int8-dynamic, groups of 32", everything, "int8",
     "{compute: int8-dynamic, store: f32, group: 32}", "f32", 0.005},
};

constexpr Format longList[] = {
    {"bf16", everything, "bf16", "bf16", "bf16", 0.002},
    {"f16", everything, "f16", "f16", "f16", 0.001},
    {"int8", everything, "int8", "f32", "f32", 0.01},
    {"int6, groups of 32", layers, "int6, group: 32", "f32", "f32", 0.01},
    {"int6, channels, zero points", layers, "int6, group: channel, zero_points: true", "f32", "f32",
     0.02},
    {"int5, groups of 32", layers, "int5, group: 32", "f32", "f32", 0.03},
    {"int5, groups of 32, zero points", layers, "int5, group: 32, zero_points: true", "f32", "f32",
     0.02},
    {"int3, groups of 32", layers, "int3, group: 32", "f32", "f32", 0.40},
    {"int3, groups of 32, zero points", layers, "int3, group: 32, zero_points: true", "f32", "f32",
     0.40},
    {"int4, groups of 32", layers, "int4, group: 32", "f32", "f32", 0.08},
    {"int4, groups of 64", layers, "int4, group: 64", "f32", "f32", 0.12},
    {"int4, groups of 128", layers, "int4, group: 128", "f32", "f32", 0.15},
    {"int4, channels", layers, "int4, group: channel", "f32", "f32", 0.20},
    {"int4, groups of 32, zero points", layers, "int4, group: 32, zero_points: true", "f32", "f32",
     0.08},
    {"int4, groups of 64, zero points", layers, "int4, group: 64, zero_points: true", "f32", "f32",
     0.12},
    {"int4, groups of 128, zero points", layers, "int4, group: 128, zero_points: true", "f32",
     "f32", 0.15},
    {"fp8, channels", everything, "fp8", "f32", "f32", 0.02},
    {"fp8, whole tensors", everything, "fp8, scale: tensor", "f32", "f32", 0.03},
    {"int8, int8-dynamic", everything, "int8", "{compute: int8-dynamic, store: f32}", "f32", 0.02},
    {"int8, int8-dynamic, groups of 32", everything, "int8",
     "{compute: int8-dynamic, store: f32, group: 32}", "f32", 0.005},
    {"int8, int8-dynamic, groups of 64", everything, "int8",
     "{compute: int8-dynamic, store: f32, group: 64}", "f32", 0.005},
    {"int8, int8-dynamic, groups of 128", everything, "int8",
     "{compute: int8-dynamic, store: f32, group: 128}", "f32", 0.01},
    {"fp8, fp8-dynamic", everything, "fp8", "{compute: fp8-dynamic, store: f32}", "f32", 0.04},
    {"f32, KV cache in int8", everything, "f32", "f32", "int8", 0.005},
    {"f32, KV cache in e4m3", everything, "f32", "f32", "e4m3", 0.02},
    {"f32, KV cache in e5m2", everything, "f32", "f32", "e5m2", 0.05},
};

std::string recipeOf(const Format &format) {
  return std::string("version: 1\nweights:\n  - {match: \"") + format.match +
         "\", format: " + format.weights + "}\nactivations: " + format.activations +
         "\nkv_cache: " + format.kvCache + "\n";
}

/// A model with the text and the windows its perplexity is taken from.
struct Corpus {
  std::filesystem::path model, text;
  bool hasSpecialTokens;
  Windowing windowing;
};

double perplexityOf(const Corpus &corpus, const Format &format) {
  Options options;
  options.threads = 1;
  options.max_sequences = 1;
  Engine engine(builtEngine({corpus.model, recipeOf(format)}), options);
  return perplexity(engine, engine.tokenize(readText(corpus.text), true, corpus.hasSpecialTokens),
                    corpus.windowing);
}

void checkFormats(const Corpus &corpus, std::span<const Format> formats) {
  double exact = perplexityOf(corpus, f32);
  std::printf("| %-32s | perplexity | against f32 |\n|---|---|---|\n", "recipe");
  std::printf("| %-32s | %10.4f | %11s |\n", f32.name, exact, "");
  for (const Format &format : formats) {
    double actual = perplexityOf(corpus, format);
    double change = actual / exact - 1;
    std::printf("| %-32s | %10.4f | %+9.2f %% |\n", format.name, actual, 100 * change);
    EXPECT_LE(change, format.bound) << format.name;
    // Rounding may also help by chance, but not by more than it may harm.
    EXPECT_GE(change, -format.bound) << format.name;
  }
}

Corpus tinyStories() {
  return {sharedData("TinyStories-656K"), sharedData("text/tinystories_train_head_ascii.txt"),
          false, llamaCppWindowing(256, 60)};
}

Corpus fables() {
  Windowing windowing;
  windowing.length = 512;
  windowing.maxWindows = 16;
  return {fablesModel(), fablesModel().parent_path() / "heldout.txt", true, windowing};
}

TEST(AccuracyTest, TinyStories) {
  INGOT_NEED_SHARED_DATA();
  checkFormats(tinyStories(), shortList);
}

TEST(LongAccuracyTest, TinyStories) {
  INGOT_NEED_SHARED_DATA();
  checkFormats(tinyStories(), longList);
}

TEST(LongAccuracyTest, Fables) { checkFormats(fables(), longList); }

} // namespace
} // namespace ingot::e2e
