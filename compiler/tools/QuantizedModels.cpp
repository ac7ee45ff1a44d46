// SPDX-License-Identifier: Apache-2.0
// A quantized checkpoint is found by a digest of what decides about it.
#include "compiler/tools/QuantizedModels.h"

#include "compiler/build/BuildRequest.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/quantize/Documents.h"
#include "compiler/quantize/Quantize.h"
#include "compiler/quantize/QuantizeFile.h"
#include "compiler/quantize/RecipeSearch.h"
#include "compiler/recipe/Presets.h"
#include "compiler/tools/BuiltEngines.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;

static constexpr char kRecipe[] = "recipe.yaml", kSuffix[] = ".quantized";

/// Whether a rule of `recipe` has a format that is `isOf`; parts that see are left to the build.
static bool anyFormat(const recipe::Recipe &recipe, bool (*isOf)(recipe::NumberFormat)) {
  return std::any_of(
      recipe.weights.begin(), recipe.weights.end(),
      [&](const recipe::WeightRule &rule) { return !rule.isOfVision() && isOf(rule.format.type); });
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
    if (!rule.isOfVision() &&
        (recipe::isGrouped(rule.format.type) || recipe::isFourBitFloat(rule.format.type)))
      rule.format = {};
  recipe.method = recipe::Method::Round;
  recipe.rotation = recipe::Rotation::None;
  return recipe;
}

fs::path compiler::quantizedFolder(const BuildOptions &options) {
  return options.output.string() + kSuffix;
}

/// Where what is made of `model` is kept; `recipe` says all that decides about it but the text.
static Expected<fs::path> folderFor(const quantize::QuantizeOptions &quantization,
                                    const std::string &recipe, const BuildOptions &options,
                                    const checkpoint::Checkpoint &model, Progress &progress) {
  if (!options.cache)
    return quantizedFolder(options);
  codegen::CacheKey key;
  key.add(kRevision);
  key.add(recipe);
  for (const auto &number : {quantization.text.samples, quantization.text.length})
    key.add(std::to_string(number));
  key.add(std::to_string(quantization.text.seed));
  std::vector<NamedFile> files = modelFiles(model, options.model);
  // What cannot be read is an error when it is read.
  if (auto texts = quantize::textFiles(quantization.text.files))
    for (const fs::path &file : *texts)
      files.push_back({"text", file});
  FileDigests own(options.cache);
  FileDigests &digests = options.digests ? *options.digests : own;
  if (auto added = addFiles(key, files, digests, options.threads, progress); !added)
    return added.error();
  return fs::path(options.cache->folder()) / kModelsFolder / key.text();
}

/// Lets `make` write `quantization.output`, `name` in `folder`, unless it is there, and the build
/// read it.
static Outcome makeOnce(const fs::path &folder, const fs::path &name,
                        quantize::QuantizeOptions &quantization, BuildOptions &options,
                        llvm::function_ref<Outcome()> make) {
  quantization.output = folder / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return checkpoint::Error{"INGOT-E7041", error.message(), folder.string(),
                             "name another with --cache"};
  if (!fs::exists(quantization.output, error))
    if (auto made = make(); !made) {
      if (!options.cache) // nobody goes on from there
        fs::remove_all(folder, error);
      return made;
    }
  options.model = quantization.output;
  if (options.cache) {
    markUsed(folder);
    removeOldest(folder.parent_path(), folder);
  }
  return {};
}

static quantize::QuantizeOptions quantizationOf(const BuildOptions &options,
                                                const checkpoint::Checkpoint &model) {
  quantize::QuantizeOptions quantization;
  const auto longest = static_cast<int64_t>(model.config().maxPositions);
  quantization.text.length = std::min(quantization.text.length, longest);
  quantization.model = options.model;
  quantization.text.files.assign(options.calibrationText.begin(), options.calibrationText.end());
  quantization.threads = options.threads;
  quantization.maxMemory = options.maxBuildMemory;
  quantization.cache = options.cache;
  return quantization;
}

/// Engines are called after the file or folder of their model.
static fs::path nameFor(const BuildOptions &options) {
  return checkpoint::modelFileName(options.model);
}

static Outcome refuseOthersWeights() {
  return checkpoint::Error{
      "INGOT-E2115", "the recipe quantizes before the build, from the model's own weights alone",
      "--recipe",
      "leave out --lora and --random-weights, or choose a method of round, formats that "
      "builds make, and no budget"};
}

/// Makes a GGUF file, and builds it as one that names no recipe.
static Outcome quantizeToMixFirst(mlir::MLIRContext &context, BuildOptions &options,
                                  const quantize::WeightMix &mix, Progress &progress) {
  // What the build would refuse behind the work is refused before it.
  const auto request = readRequestButRecipe(context, options);
  if (!request)
    return request.error();
  const checkpoint::Checkpoint &model = request->checkpoint;
  quantize::QuantizeOptions quantization = quantizationOf(options, model);
  auto folder = folderFor(quantization, std::string(nameOf(mix)), options, model, progress);
  if (!folder)
    return folder.error();
  auto make = [&]() -> Outcome {
    auto bytes = quantize::quantizeToMix(context, quantization, {.mix = &mix}, progress);
    return bytes ? Outcome() : bytes.error();
  };
  fs::path name = nameFor(options);
  if (!checkpoint::isModelFile(options.model))
    name += ".gguf";
  options.recipe.clear();
  return makeOnce(*folder, name, quantization, options, make);
}

Outcome compiler::quantizeFirst(mlir::MLIRContext &context, BuildOptions &options,
                                Progress &progress) {
  const quantize::SearchOptions search{
      {options.targetSize, options.maxDivergence, options.meanBits}, options.lockfile};
  const bool isOwn = options.lora.empty() && !options.randomWeights;
  if (const auto *mix = quantize::weightMixFromName(options.recipe.string())) {
    if (auto allowed = quantize::refuseSearch(search); !allowed)
      return allowed;
    return isOwn ? quantizeToMixFirst(context, options, *mix, progress) : refuseOthersWeights();
  }
  auto lockfile = search.fileFor(options.output);
  if (!lockfile)
    return lockfile.error();
  if (options.recipe.empty())
    return {};
  auto recipe = recipe::presetOrFile(options.recipe);
  if (!recipe)
    return recipe.error();
  auto decides = [&] { return search.budget.isGiven() || decidesCodes(*recipe); };
  if (!decides() && !(measuresInputs(*recipe) && isOwn))
    return {};
  if (!isOwn)
    return refuseOthersWeights();
  const auto request = readRequestButRecipe(context, options);
  if (!request)
    return request.error();
  const checkpoint::Checkpoint &model = request->checkpoint;
  if (!decides() && model.quantization().isQuantized())
    return {}; // its own scales
  quantize::QuantizeOptions quantization = quantizationOf(options, model);
  quantization.recipe = *recipe;
  if (search.budget.isGiven()) {
    recipe = quantize::searchRecipe(context, quantization, search.budget, *lockfile, progress);
    if (!recipe)
      return recipe.error();
    options.recipe = *lockfile;
    if (!decidesCodes(*recipe))
      return {};
    quantization.recipe = *recipe;
  }
  auto folder = folderFor(quantization, quantization.recipe.str(), options, model, progress);
  if (!folder)
    return folder.error();
  auto make = [&]() -> Outcome {
    auto report = quantize::quantizeCheckpoint(context, quantization, progress);
    if (!report)
      return report.error();
    if (report->text.is_object())
      progress.tell("calibrated on " + quantize::describeText(report->text) + "\n");
    return {};
  };
  if (auto made = makeOnce(*folder, nameFor(options), quantization, options, make); !made)
    return made;
  options.recipe = *folder / kRecipe;
  return quantize::writeWhole(options.recipe, restOf(*recipe).str());
}

void compiler::dropQuantized(const BuildOptions &options) {
  std::error_code error;
  const fs::path folder = options.model.parent_path();
  if (!options.cache && folder.extension() == kSuffix)
    fs::remove_all(folder, error);
}
