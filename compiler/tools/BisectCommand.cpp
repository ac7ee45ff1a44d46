// SPDX-License-Identifier: Apache-2.0
// ingot bisect
#include "compiler/quantize/Gate.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/FilesOfBuild.h"

#include "mlir/IR/MLIRContext.h"

using namespace ingot;
using namespace ingot::compiler;
using runtime::FileUse;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot bisect my-model.ingot my-model\n"
    "  ingot bisect my-model-awq.ingot my-model --tolerance 0.1 --text texts.txt\n";

int compiler::runBisect(int argc, char **argv) {
  runtime::CommandLine app(
      "Finds the first layer in which an engine and a checkpoint differ: each layer is given what "
      "the "
      "engine has before it. Exit status 3 where one differs by more than the tolerance.",
      argv[0], kExamples);
  std::filesystem::path engine, text;
  quantize::GateOptions options;
  double tolerance = 0.15;
  app.addOption("engine", engine, "engine file").required().file(FileUse::ReadsIfThere);
  app.addOption("model", options.original, "checkpoint to compare with").required();
  app.addOption("--tolerance", tolerance,
                "what the root mean square of a part's differences may be, of that of its results")
      .showDefault();
  app.addOption("--text", text, "what both are run on (default: a built-in text)")
      .file(FileUse::Reads);
  app.addOption("--threads", options.threads, "threads to use (default: all)").positive();
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (!text.empty())
    options.text.files.push_back(text);
  options.text.samples = 2;
  options.text.length = 256;
  options.folder = engine.string() + ".bisect";
  Progress progress(Progress::styleOfTerminal());
  runtime::CommandFiles files = app.files();
  files.add(FileUse::WorksIn, "the folder for work", options.folder);
  addTexts(files, "--text", options.text.files);
  auto checked = addModel(files, "model", options.original);
  if (checked)
    checked = checkFiles(files);
  if (!checked) {
    progress.failed(checked.error().str());
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  auto parts = quantize::measureParts(context, engine, options, progress);
  if (!parts) {
    progress.failed(parts.error().str());
    return 1;
  }
  const quantize::PartDifference *first = nullptr;
  printf("%-16s %12s %12s\n", "part", "by itself", "so far");
  for (const quantize::PartDifference &part : *parts) {
    const bool differs = !(part.relativeRms <= tolerance);
    printf("%-16s %12.6f %12.6f%s\n", part.part.c_str(), part.relativeRms, part.accumulated,
           differs ? "  differs" : "");
    if (differs && !first)
      first = &part;
  }
  if (!first) {
    printf("no part differs by more than %g\n", tolerance);
    return 0;
  }
  printf("%s is the first part that differs by more than %g\n", first->part.c_str(), tolerance);
  return 3;
}
