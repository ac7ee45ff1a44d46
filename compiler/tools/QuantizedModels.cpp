// SPDX-License-Identifier: Apache-2.0
// A quantized checkpoint is found by a digest of what decides about it.
#include "compiler/tools/QuantizedModels.h"

#include "compiler/build/Version.h"
#include "compiler/quantize/Quantize.h"
#include "compiler/recipe/Presets.h"
#include "compiler/recipe/RecipeWords.h"
#include "compiler/tools/BuiltEngines.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;

static constexpr char kRecipe[] = "recipe.yaml", kSuffix[] = ".quantized";

/// The recipe of the engine: what is quantized stays as it is stored.
static recipe::Recipe restOf(recipe::Recipe recipe) {
  for (recipe::WeightRule &rule : recipe.weights)
    if (recipe::isGrouped(rule.format.type))
      rule.format = {};
  recipe.method = recipe::Method::Round;
  return recipe;
}

static Expected<fs::path> folderFor(const quantize::QuantizeOptions &quantization,
                                    const BuildOptions &options) {
  if (!options.cache)
    return fs::path(options.output.string() + kSuffix);
  codegen::CacheKey key;
  key.add(kRevision);
  key.add(quantization.recipe.str());
  for (const auto &number : {quantization.text.samples, quantization.text.length})
    key.add(std::to_string(number));
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  addModelFiles(key, *model, options.model);
  for (const fs::path &file : quantization.text.files)
    addFiles(key, file);
  return fs::path(options.cache->folder()) / "quantized" / key.text();
}

Outcome compiler::quantizeFirst(mlir::MLIRContext &context, BuildOptions &options,
                                Progress &progress) {
  if (options.recipe.empty())
    return {};
  auto recipe = recipe::presetOrFile(options.recipe);
  if (!recipe)
    return recipe.error();
  if (recipe->method == recipe::Method::Round)
    return {};
  if (!options.lora.empty() || options.randomWeights)
    return checkpoint::Error{
        "INGOT-E2115",
        checkpoint::message(
            "the recipe's method is ",
            recipe::wordFor(recipe::Quantizer, static_cast<int32_t>(recipe->method)),
            ", which reads the model's own weights alone"),
        "--recipe", "leave out --lora and --random-weights, or choose a method of round"};
  quantize::QuantizeOptions quantization;
  quantization.model = options.model;
  quantization.recipe = *recipe;
  quantization.text.files.assign(options.calibrationText.begin(), options.calibrationText.end());
  quantization.threads = options.threads;
  quantization.maxMemory = options.maxBuildMemory;
  quantization.cache = options.cache;
  auto folder = folderFor(quantization, options);
  if (!folder)
    return folder.error();
  // Engines are called after the folder of their model.
  quantization.output = *folder / fs::weakly_canonical(options.model).filename();
  std::error_code error;
  fs::create_directories(*folder, error);
  if (error)
    return checkpoint::Error{"INGOT-E7041", error.message(), folder->string(),
                             "name another with --cache"};
  if (!fs::exists(quantization.output, error)) {
    auto report = quantize::quantizeCheckpoint(context, quantization, progress);
    if (!report)
      return report.error();
    if (report->text.is_object())
      std::fputs(("calibrated on " + quantize::describeText(report->text) + "\n").c_str(), stderr);
  }
  const fs::path rest = *folder / kRecipe;
  if (auto written = quantize::writeWhole(rest, restOf(*recipe).str()); !written)
    return written;
  options.model = quantization.output;
  options.recipe = rest;
  return {};
}

void compiler::dropQuantized(const BuildOptions &options) {
  std::error_code error;
  const fs::path folder = options.model.parent_path();
  if (!options.cache && folder.extension() == kSuffix)
    fs::remove_all(folder, error);
}
