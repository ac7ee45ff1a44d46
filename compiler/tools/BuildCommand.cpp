// SPDX-License-Identifier: Apache-2.0
// ingot build
#include "compiler/build/BuildReport.h"
#include "compiler/build/BuildRequest.h"
#include "compiler/quantize/Gate.h"
#include "compiler/quantize/GatePage.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/FilesOfBuild.h"
#include "compiler/tools/PulledModels.h"
#include "compiler/tools/QuantizedModels.h"

#include "mlir/IR/Diagnostics.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot build examples/fables/model -o fables.ingot\n"
    "  ingot build my-model.gguf -o my-model.ingot --recipe q4_k_m --report report.json\n"
    "  ingot build HuggingFaceTB/SmolLM2-135M-Instruct -o my-model.ingot\n"
    "  ingot build my-model -o my-model.ingot --recipe w4a16-awq --gate 'kl<=0.05,top1>=95%'\n"
    "  ingot build my-model -o my-model.ingot --recipe w4a16-gptq --target-size 4.2GiB\n"
    "  ingot build my-model -o my-model.ingot --target x86-64-v4+vnni+bf16 --target x86-64-v3\n"
    "  ingot build my-model -o candidates.ingot --target sm_90a --tuning-candidates";

/// The exit status of a build whose engine is not as accurate as it must be.
static constexpr int kExceeded = 3;

/// Where a gate's rows are meanwhile.
static std::string gateFolder(const BuildOptions &options) {
  return options.output.string() + ".gate";
}

/// Refuses what can be known of the files before anything is built. `files`: of the options.
static checkpoint::Outcome checkFilesOf(const BuildOptions &options, runtime::CommandFiles files) {
  auto model = options.randomWeights
                   ? checkpoint::Checkpoint::openWithoutWeights(options.model, options.parts())
                   : checkpoint::Checkpoint::open(options.model, options.parts());
  if (!model)
    return model.error();
  // One that cannot be added is refused where that is done.
  if (!options.lora.empty())
    (void)model->addAdapter(options.lora, options.loraScale);
  addModel(files, "MODEL", *model, options.model);
  addRecipe(files, options.recipe);
  const std::vector<std::filesystem::path> texts(options.calibrationText.begin(),
                                                 options.calibrationText.end());
  addTexts(files, "--calibration-text", texts);
  if (options.targetSize > 0 || options.maxDivergence > 0 || options.meanBits > 0)
    addSearch(files, options.output, options.lockfile);
  if (!options.cache)
    files.add(runtime::FileUse::WorksIn, "the folder of the quantized model",
              quantizedFolder(options));
  if (!options.gate.empty()) {
    addTexts(files, "--gate-text", {&options.gateText, options.gateText.empty() ? 0u : 1u});
    files.add(runtime::FileUse::WorksIn, "the gate's folder for work", gateFolder(options));
    files.add(runtime::FileUse::Writes, "an engine that the gate refuses", options.refused());
    if (!options.gateModel.empty())
      if (auto added = addModel(files, "--gate-model", options.gateModel); !added)
        return added;
  }
  return checkFiles(files);
}

/// Refuses a gate that cannot measure the engine.
static checkpoint::Outcome checkGate(mlir::MLIRContext &context, const BuildOptions &options,
                                     const quantize::GateOptions &gate) {
  for (const std::string &path : options.gateReports)
    if (auto named = quantize::checkGateReport(path); !named)
      return named;
  auto request = readRequestButRecipe(context, options);
  if (!request)
    return request.error();
  if (auto runs = checkRunsHere(context, options, "--gate"); !runs)
    return runs;
  return quantize::checkGate(gate, *request);
}

/// What shows where an engine that the gate refuses differs.
static std::string bisectCommand(const BuildOptions &options, const quantize::GateOptions &gate) {
  std::string command = "ingot bisect " + options.refused().string() + " " + gate.original.string();
  return gate.text.files.empty() ? command : command + " --text " + options.gateText.string();
}

/// Lets the build measure its engine and refuse it. The arguments must live as long as `options`.
static checkpoint::Outcome addGate(mlir::MLIRContext &context, BuildOptions &options,
                                   Progress &progress) {
  quantize::GateOptions gate;
  gate.name = options.output.filename().string();
  gate.limits = options.gate;
  gate.original = options.gateModel.empty() ? options.model : options.gateModel;
  gate.text.samples = 16;
  gate.text.lengthOption = "--max-context";
  if (!options.gateText.empty())
    gate.text.files.push_back(options.gateText);
  gate.folder = gateFolder(options);
  gate.describes = !options.gateReports.empty();
  gate.threads = options.threads;
  gate.cache = options.cache;
  if (auto checked = checkGate(context, options, gate); !checked)
    return checked;
  options.examine = [&context, &progress, gate, reports = options.gateReports,
                     bisect = bisectCommand(options, gate)](
                        const std::filesystem::path &engine,
                        mlir::ModuleOp module) -> checkpoint::Expected<Examination> {
    auto report = quantize::measureGate(context, module, engine, gate, progress);
    if (!report)
      return report.error();
    progress.tell(report->summary());
    for (const std::string &path : reports)
      if (auto written = quantize::writeGateReport(*report, path); !written)
        return written.error();
    Examination examined{report->records()};
    if (const std::string exceeded = report->exceeded(); !exceeded.empty())
      examined.refusal = checkpoint::Error{
          "INGOT-E2119", "the engine exceeds its accuracy budget: " + exceeded, "",
          "choose a recipe with more bits or calibration, or a wider budget; `" + bisect +
              "` shows every part"};
    return examined;
  };
  return {};
}

int compiler::runBuild(int argc, char **argv) {
  runtime::CommandLine app("Compiles a checkpoint to one engine file.\nExit status: 0 the file is "
                           "written, 1 an error, 2 a wrong command line, 3 --gate refuses it.",
                           argv[0], kExamples);
  app.setDetails(recipesByName());
  BuildOptions options;
  addBuildArguments(app, options, kBuild);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (auto status = pullNamedModel(options.model, options.jsonEvents))
    return *status;

  Progress progress(options.jsonEvents ? ProgressStyle::Json : Progress::styleOfTerminal());
  auto cache = openCache(options, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  if (auto checked = checkFilesOf(options, app.files()); !checked) {
    progress.failed(checked.error().str());
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  if (!options.gate.empty())
    if (auto checked = addGate(context, options, progress); !checked) {
      progress.failed(checked.error().str());
      return 1;
    }
  if (auto quantized = quantizeFirst(context, options, progress); !quantized) {
    progress.failed(quantized.error().str());
    return 1;
  }
  auto report = buildEngine(context, options, progress);
  dropQuantized(options);
  if (!report) {
    progress.failed(report.error().str());
    return 1;
  }
  if (!options.report.empty())
    if (auto written = writeReport(*report, options.report); !written) {
      progress.failed(written.error().str());
      return 1;
    }
  if (report->refusal) {
    progress.failed(report->refusal->str());
    return kExceeded;
  }
  return 0;
}
