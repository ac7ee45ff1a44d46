// SPDX-License-Identifier: Apache-2.0
// ingot quantize
#include "compiler/quantize/Quantize.h"
#include "compiler/recipe/Presets.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"

#include "mlir/IR/MLIRContext.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot quantize my-model -o my-model-awq --recipe w4a16-awq --calibration-text texts.txt\n"
    "  ingot quantize my-model -o my-model-gptq --recipe w4a16-gptq --calibration-text texts.txt "
    "--format gptq\n"
    "  ingot quantize my-model -o my-model-int4 --recipe int4.yaml --calibration-text texts.txt "
    "--samples 256\n"
    "  ingot build my-model-awq -o my-model.ingot\n";

int compiler::runQuantize(int argc, char **argv) {
  runtime::CommandLine app(
      "Quantizes a checkpoint into one that other programs load too. Matrices to which the recipe "
      "gives int3 to int6 are rounded by its method, layer by layer, on calibration text; a run "
      "that was ended goes on at its layer.",
      argv[0], kExamples);
  quantize::QuantizeOptions options;
  BuildOptions build;
  std::string recipe;
  std::vector<std::string> texts;
  app.addOption("model", options.model, "folder with 16-bit or f32 weights").required();
  app.addOption("-o,--output", options.output, "folder to make").required();
  app.addOption("--recipe", recipe, "recipe file, or a recipe's name").required();
  app.addOption("--format", options.format, "layout of the result")
      .oneOf(quantize::layoutNames())
      .showDefault();
  app.addOption("--calibration-text", texts,
                "file with text that the model is run on; may be given again (default: a built-in "
                "one)");
  app.addOption("--samples", options.text.samples, "sequences of calibration text")
      .positive()
      .showDefault();
  app.addOption("--length", options.text.length, "tokens of each").positive().showDefault();
  app.addOption("--seed", options.text.seed, "of the choice of sequences").showDefault();
  app.addOption("--target", options.target,
                "what the model is run on; the same one gives the same result everywhere")
      .showDefault();
  app.addOption("--threads", options.threads, "threads; all of the machine if not given")
      .positive();
  app.addOption("--max-build-memory", options.maxMemory, "cap of the process, as in 4GiB")
      .bytes()
      .showDefault("2GiB");
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  options.text.files.assign(texts.begin(), texts.end());

  Progress progress(Progress::styleOfTerminal());
  auto chosen = recipe::presetOrFile(recipe);
  if (!chosen) {
    progress.failed(chosen.error().str());
    return 1;
  }
  options.recipe = *std::move(chosen);
  auto cache = openCache(build, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  options.cache = build.cache;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  auto report = quantize::quantizeCheckpoint(context, options, progress);
  if (!report) {
    progress.failed(report.error().str());
    return 1;
  }
  for (const quantize::ModuleRecord &record : report->modules)
    if (!record.explanation.empty())
      progress.warn(record.module + ": " + record.explanation);
  progress.finished(options.output.string(), 0);
  return 0;
}
