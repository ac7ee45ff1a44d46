// SPDX-License-Identifier: Apache-2.0
// ingot quantize
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/quantize/Quantize.h"
#include "compiler/quantize/QuantizeFile.h"
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/recipe/Presets.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/FilesOfBuild.h"
#include "compiler/tools/PulledModels.h"

#include "mlir/IR/MLIRContext.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Outcome;
using runtime::FileUse;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot quantize my-model -o my-model-awq --recipe w4a16-awq\n"
    "  ingot quantize my-model -o my-model-nvfp4 --recipe nvfp4\n"
    "  ingot quantize my-model -o my-model-int4 --recipe int4.yaml --calibration-text texts.txt\n"
    "  ingot quantize my-model -o my-model-mix --recipe w4a16-gptq --target-size 4.2GiB\n"
    "  ingot quantize my-model -o my-model-q4_k_m.gguf --recipe q4_k_m\n"
    "  ingot quantize my-model-f16.gguf -o my-model-q3_k_m.gguf --recipe q3_k_m --imatrix "
    "my.imatrix\n"
    "  ingot build my-model-awq -o my-model.ingot";

namespace {

struct Arguments {
  quantize::QuantizeOptions options;
  std::string recipe;
  quantize::MixOptions mix;
  quantize::SearchOptions search;
  BuildOptions build; ///< of which the cache is chosen
};

void add(runtime::CommandLine &app, Arguments &arguments, std::vector<std::string> &texts) {
  quantize::QuantizeOptions &options = arguments.options;
  app.addOption("model", options.model, "folder with 16-bit or f32 weights, GGUF file, or name")
      .required()
      .file(FileUse::ReadsIfThere);
  app.addOption("-o,--output", options.output, "folder or GGUF file to make")
      .required()
      .file(FileUse::MakesFolder);
  app.addOption("--recipe", arguments.recipe,
                "recipe file or name, or the name of a mix, which makes a GGUF file")
      .required();
  app.addOption(
         "--format", options.format,
         "layout of a folder's matrices (default: the first that holds the recipe's formats)")
      .oneOf(quantize::layoutNames());
  quantize::Budget &budget = arguments.search.budget;
  auto size = app.addOption("--target-size", budget.size,
                            "search for the most exact mix of formats of this size of all weights, "
                            "such as 4.2GiB")
                  .positive()
                  .bytes();
  auto divergence = app.addOption("--max-kl", budget.divergence,
                                  "search for the smallest mix of this estimated KL divergence, "
                                  "such as 0.02 (nats)")
                        .positive()
                        .group("Budgets");
  auto bits = app.addOption("--bits", budget.bits,
                            "search for the most exact mix of this many bits a weight of the "
                            "layers' matrices, such as 4.5")
                  .positive();
  size.excludes(divergence).excludes(bits);
  divergence.excludes(bits);
  app.addOption("--lockfile", arguments.search.lockfile,
                "recipe file to write what a search chose to (default: OUTPUT.lock.yaml)")
      .file(FileUse::Writes)
      .group("Budgets");
  app.addOption(
         "--calibration-text", texts,
         "what the model is run on: a text, a .jsonl file with a conversation or text in each "
         "line, or a folder of such files; may be given again (default: a built-in text)")
      .file(FileUse::Reads);
  app.addOption("--imatrix", arguments.mix.importance,
                "importance matrix of llama.cpp for a mix, in place of running the model")
      .file(FileUse::Reads)
      .group("Mixes, which are GGUF files");
  app.addOption("--imatrix-output", arguments.mix.importanceOutput,
                "file to keep the measured importance matrix in")
      .file(FileUse::Writes)
      .group("Mixes, which are GGUF files");
  app.addFlag("--allow-requantize", arguments.mix.requantizes,
              "make other blocks of weights that a GGUF file has in blocks already")
      .group("Mixes, which are GGUF files");
  options.text.lengthOption = "--length";
  app.addOption("--samples", options.text.samples, "sequences of calibration text")
      .positive()
      .showDefault()
      .group("Calibration");
  app.addOption("--length", options.text.length, "tokens of each")
      .positive()
      .showDefault()
      .group("Calibration");
  app.addOption("--seed", options.text.seed, "of the choice of sequences")
      .showDefault()
      .group("Calibration");
  app.addOption("--target", options.target,
                "what the model is run on; all levels of x86-64 give the same result")
      .showDefault()
      .group("Process");
  app.addOption("--threads", options.threads, "threads to use (default: all)")
      .positive()
      .group("Process");
  app.addOption("--max-build-memory", options.maxMemory, "cap on memory, such as 4GiB")
      .bytes()
      .showDefault("2GiB")
      .group("Process");
  addBuildArguments(app, arguments.build, kQuantize);
}

/// Refuses what can be known of the files before any work. `files`: of the options.
Outcome checkFilesOf(const Arguments &arguments, runtime::CommandFiles files) {
  const quantize::QuantizeOptions &options = arguments.options;
  if (auto added = addModel(files, "model", options.model); !added)
    return added;
  addRecipe(files, arguments.recipe);
  addTexts(files, "--calibration-text", options.text.files);
  files.add(FileUse::WorksIn, "the folder for work", options.output.string() + ".partial");
  if (arguments.search.budget.isGiven())
    addSearch(files, options.output, arguments.search.lockfile);
  return checkFiles(files);
}

Outcome quantizeFile(mlir::MLIRContext &context, Arguments &arguments, Progress &progress) {
  if (auto allowed = quantize::refuseSearch(arguments.search); !allowed)
    return allowed;
  if (!arguments.options.format.empty())
    return checkpoint::Error{"INGOT-E2159", "a mix makes a GGUF file, which has one format",
                             "--format", "leave it out"};
  arguments.mix.mix = quantize::weightMixFromName(arguments.recipe);
  if (!arguments.mix.mix)
    return checkpoint::Error{"INGOT-E2116",
                             "there is no mix called " + checkpoint::inQuotes(arguments.recipe),
                             "--recipe", "of a GGUF file, choose one of " + listOfMixes()};
  auto bytes = quantize::quantizeToMix(context, arguments.options, arguments.mix, progress);
  if (!bytes)
    return bytes.error();
  progress.finished(arguments.options.output.string(), *bytes);
  return {};
}

Outcome quantizeFolder(mlir::MLIRContext &context, Arguments &arguments, Progress &progress) {
  if (!arguments.mix.importance.empty() || !arguments.mix.importanceOutput.empty())
    return checkpoint::Error{"INGOT-E2117", "importance matrices are for mixes", "--imatrix",
                             "leave the option out; other recipes are calibrated by their method"};
  auto recipe = recipe::presetOrFile(arguments.recipe);
  if (!recipe)
    return recipe.error();
  // The other layouts have one format for all matrices.
  if (const std::string &format = arguments.options.format;
      !format.empty() && format != "compressed-tensors" && recipe::presetCalled(arguments.recipe))
    recipe::keepSensitive(*recipe);
  for (const recipe::WeightRule &rule : recipe->weights)
    if (rule.isOfVision())
      return checkpoint::Error{"INGOT-E2014",
                               checkpoint::message("rule ", rule.match,
                                                   " is of a part that sees, which stays as it is "
                                                   "stored"),
                               "--recipe", "leave the rule to the recipe of `ingot build`"};
  arguments.options.recipe = *std::move(recipe);
  auto lockfile = arguments.search.fileFor(arguments.options.output);
  if (!lockfile)
    return lockfile.error();
  if (arguments.search.budget.isGiven()) {
    auto found = quantize::searchRecipe(context, arguments.options, arguments.search.budget,
                                        *lockfile, progress);
    if (!found)
      return found.error();
    arguments.options.recipe = *std::move(found);
  }
  auto report = quantize::quantizeCheckpoint(context, arguments.options, progress);
  if (!report)
    return report.error();
  if (report->text.is_object())
    progress.tell("calibrated on " + quantize::describeText(report->text) + "\n");
  progress.finished(arguments.options.output.string(), report->bytes);
  return {};
}

} // namespace

int compiler::runQuantize(int argc, char **argv) {
  runtime::CommandLine app(
      "Quantizes a model into one that other programs load too. Of a folder, matrices to which the "
      "recipe gives fewer than 16 bits are encoded by its method, layer by layer, on calibration "
      "text, after the rotation that it may ask for; a run that was ended goes on at its layer. "
      "With a budget each of them gets a format of its own: int4, int8, or as it is stored. By a "
      "mix a GGUF file is made, of such a file or of a folder, in which all matrices are blocks: " +
          listOfMixes() + ".",
      argv[0], kExamples);
  Arguments arguments;
  std::vector<std::string> texts;
  add(app, arguments, texts);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (auto status = pullNamedModel(arguments.options.model))
    return *status;
  arguments.options.text.files.assign(texts.begin(), texts.end());

  Progress progress(Progress::styleOfTerminal());
  auto cache = openCache(arguments.build, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  arguments.options.cache = arguments.build.cache;
  if (auto checked = checkFilesOf(arguments, app.files()); !checked) {
    progress.failed(checked.error().str());
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  const bool makesFile = checkpoint::isModelFile(arguments.options.model) ||
                         quantize::weightMixFromName(arguments.recipe);
  auto quantized = makesFile ? quantizeFile(context, arguments, progress)
                             : quantizeFolder(context, arguments, progress);
  if (!quantized)
    progress.failed(quantized.error().str());
  return quantized ? 0 : 1;
}
