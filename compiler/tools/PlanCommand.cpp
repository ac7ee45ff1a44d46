// SPDX-License-Identifier: Apache-2.0
// ingot plan: from an engine as the runtime does it, or from a checkpoint before anything is built.
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/hub/ModelName.h"
#include "compiler/quantize/ggml/WeightMix.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/ModelArguments.h"
#include "compiler/tools/PulledModels.h"
#include "runtime/tools/Commands.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot plan my-model.ingot --memory 16GiB\n"
    "  ingot plan my-model --recipe int4.yaml --target x86-64-v4 --memory 16GiB\n\n"
    "From a checkpoint only its configuration and the headers of its weights are read.";

/// Whether an argument that is no option is a checkpoint: a directory, a GGUF file or a name.
static bool namesCheckpoint(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-' && (std::filesystem::is_directory(argv[i]) ||
                              checkpoint::isModelFile(argv[i]) || hub::isModelName(argv[i])))
      return true;
  return false;
}

int compiler::runPlan(int argc, char **argv) {
  if (!namesCheckpoint(argc, argv)) {
    const int status = runtime::runPlan(argc, argv);
    if (asksForHelp(argc, argv))
      fputs("\nThe same of a model before it is built, with options of `ingot build`:\n"
            "  ingot plan my-model --recipe int4.yaml --target x86-64-v4 --memory 16GiB\n",
            stdout);
    return status;
  }
  runtime::CommandLine app("Tells which batch and context fit in memory.", argv[0], kExamples);
  app.setDetails(recipesByName());
  BuildOptions options;
  runtime::PlanArguments arguments;
  addBuildArguments(app, options, kPlan);
  app.addOption("--memory", arguments.memory, "bytes for everything, such as 16GiB").bytes();
  app.addFlag("--json", arguments.json, "JSON instead of tables");
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (auto status = pullNamedModel(options.model, arguments.json))
    return *status;
  Progress progress(ProgressStyle::Silent);
  if (quantize::weightMixFromName(options.recipe.string())) {
    progress.failed(checkpoint::Error{
        "INGOT-E2156", "a plan is of weights as they are stored, and a mix makes others",
        "--recipe " + options.recipe.string(),
        "make the file with `ingot quantize`, and plan with that"}
                        .str());
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  auto metadata = planEngine(context, options, progress);
  if (!metadata) {
    progress.failed(metadata.error().str());
    return 1;
  }
  if (auto status = runtime::planMetadata(*metadata, arguments, stdout); !status.ok()) {
    progress.failed(std::string(status.code()) + ": " + std::string(status.message()));
    return 1;
  }
  return 0;
}
