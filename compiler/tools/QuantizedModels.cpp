// SPDX-License-Identifier: Apache-2.0
// A quantized checkpoint is found by a digest of what decides about it.
#include "compiler/tools/QuantizedModels.h"

#include "compiler/build/Version.h"
#include "compiler/quantize/Quantize.h"
#include "compiler/quantize/RecipeSearch.h"
#include "compiler/recipe/Presets.h"
#include "compiler/tools/BuiltEngines.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;

static constexpr char kRecipe[] = "recipe.yaml", kSuffix[] = ".quantized";

/// Whether a rule of `recipe` has a format that is `isOf`.
static bool anyFormat(const recipe::Recipe &recipe, bool (*isOf)(recipe::NumberFormat)) {
  return std::any_of(recipe.weights.begin(), recipe.weights.end(),
                     [&](const recipe::WeightRule &rule) { return isOf(rule.format.type); });
}

/// Whether matrices become what builds do not make of them.
static bool decidesCodes(const recipe::Recipe &recipe) {
  return recipe.method != recipe::Method::Round || recipe.rotation != recipe::Rotation::None ||
         anyFormat(recipe, recipe::isFourBitFloat);
}

/// Whether products of encoded matrices, or KV caches, have scales that a checkpoint has.
static bool measuresInputs(const recipe::Recipe &recipe) {
  return (recipe::isStatic(recipe.activations.compute) || recipe::isStatic(recipe.kvCache)) &&
         anyFormat(recipe, recipe::isNarrow);
}

/// The recipe of the engine: what is quantized stays as it is stored. Formats that builds make are
/// for matrices that the step left; those that have them already keep their scales.
static recipe::Recipe restOf(recipe::Recipe recipe) {
  for (recipe::WeightRule &rule : recipe.weights)
    if (recipe::isGrouped(rule.format.type) || recipe::isFourBitFloat(rule.format.type))
      rule.format = {};
  recipe.method = recipe::Method::Round;
  recipe.rotation = recipe::Rotation::None;
  return recipe;
}

static Expected<fs::path> folderFor(const quantize::QuantizeOptions &quantization,
                                    const BuildOptions &options,
                                    const checkpoint::Checkpoint &model) {
  if (!options.cache)
    return fs::path(options.output.string() + kSuffix);
  codegen::CacheKey key;
  key.add(kRevision);
  key.add(quantization.recipe.str());
  for (const auto &number : {quantization.text.samples, quantization.text.length})
    key.add(std::to_string(number));
  addModelFiles(key, model, options.model);
  for (const fs::path &file : quantization.text.files)
    addFiles(key, file);
  return fs::path(options.cache->folder()) / "quantized" / key.text();
}

Outcome compiler::quantizeFirst(mlir::MLIRContext &context, BuildOptions &options,
                                Progress &progress) {
  const quantize::SearchOptions search{
      {options.targetSize, options.maxDivergence, options.meanBits}, options.lockfile};
  auto lockfile = search.fileFor(options.output);
  if (!lockfile)
    return lockfile.error();
  if (options.recipe.empty())
    return {};
  auto recipe = recipe::presetOrFile(options.recipe);
  if (!recipe)
    return recipe.error();
  auto decides = [&] { return search.budget.isGiven() || decidesCodes(*recipe); };
  const bool isOwn = options.lora.empty() && !options.randomWeights;
  if (!decides() && !(measuresInputs(*recipe) && isOwn))
    return {};
  if (!isOwn)
    return checkpoint::Error{
        "INGOT-E2115", "the recipe quantizes before the build, from the model's own weights alone",
        "--recipe",
        "leave out --lora and --random-weights, or choose a method of round, formats that "
        "builds make, and no budget"};
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  if (!decides() && model->quantization().isQuantized())
    return {}; // its own scales
  quantize::QuantizeOptions quantization;
  quantization.model = options.model;
  quantization.recipe = *recipe;
  quantization.text.files.assign(options.calibrationText.begin(), options.calibrationText.end());
  quantization.threads = options.threads;
  quantization.maxMemory = options.maxBuildMemory;
  quantization.cache = options.cache;
  if (search.budget.isGiven()) {
    recipe = quantize::searchRecipe(context, quantization, search.budget, *lockfile, progress);
    if (!recipe)
      return recipe.error();
    options.recipe = *lockfile;
    if (!decidesCodes(*recipe))
      return {};
    quantization.recipe = *recipe;
  }
  auto folder = folderFor(quantization, options, *model);
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
