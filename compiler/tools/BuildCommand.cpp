// SPDX-License-Identifier: Apache-2.0
// ingot build
#include "compiler/build/BuildReport.h"
#include "compiler/quantize/Gate.h"
#include "compiler/quantize/GatePage.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/QuantizedModels.h"

#include "mlir/IR/Diagnostics.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kExamples[] =
    "examples:\n"
    "  ingot build examples/fables/model -o fables.ingot\n"
    "  ingot build my-model.gguf -o my-model.ingot\n"
    "  ingot build my-model -o my-model.ingot --recipe q4_k_m\n"
    "  ingot build my-model -o my-model.ingot --recipe int4\n"
    "  ingot build my-model -o my-model.ingot --recipe int4.yaml --report report.json\n"
    "  ingot build my-model -o my-model.ingot --recipe w4a16-awq --gate 'kl<=0.05,top1>=95%'\n"
    "  ingot build my-model -o my-model.ingot --recipe w4a16-gptq --target-size 4.2GiB\n"
    "  ingot build my-model -o my-model.ingot --target x86-64-v4+vnni+bf16 --target x86-64-v3\n"
    "  ingot build my-model -o my-model.ingot --max-context 4096 --max-build-memory 1GiB\n"
    "  ingot build my-model -o candidates.ingot --target sm_90a --tuning-candidates\n"
    "  ingot build my-model -o my-model.ingot --target sm_90a --tuning tuning.lock\n"
    "  ingot build my-model -o my-model.ingot --cache /fast/disk/kernels --cache-limit 8GiB\n";

/// The exit status of a build whose engine is not as accurate as it must be.
static constexpr int kExceeded = 3;

/// Lets the build measure its engine and refuse it. `exceeded`: the limits that it does not keep;
/// must live as long as `options`, as all arguments must.
static checkpoint::Outcome addGate(mlir::MLIRContext &context, BuildOptions &options,
                                   Progress &progress, std::string &exceeded) {
  if (auto limits = quantize::parseGate(options.gate); !limits)
    return limits.error();
  for (const std::string &path : options.gateReports)
    if (auto writable = quantize::checkGateReport(path); !writable)
      return writable;
  quantize::GateOptions gate;
  gate.name = options.output.filename().string();
  gate.limits = options.gate;
  gate.original = options.gateModel.empty() ? options.model : options.gateModel;
  gate.text.samples = 16;
  if (!options.gateText.empty())
    gate.text.files.push_back(options.gateText);
  gate.folder = options.output.string() + ".gate";
  gate.describes = !options.gateReports.empty();
  gate.threads = options.threads;
  gate.cache = options.cache;
  options.examine = [&context, &progress, &exceeded, gate, reports = options.gateReports](
                        const std::filesystem::path &engine,
                        mlir::ModuleOp module) -> checkpoint::Expected<std::vector<OptionRecord>> {
    auto report = quantize::measureGate(context, module, engine, gate, progress);
    if (!report)
      return report.error();
    fputs(report->summary().c_str(), stderr);
    for (const std::string &path : reports)
      if (auto written = quantize::writeGateReport(*report, path); !written)
        return written.error();
    exceeded = report->exceeded();
    if (!exceeded.empty())
      return checkpoint::Error{"INGOT-E2119", "the engine exceeds its accuracy budget: " + exceeded,
                               gate.limits,
                               "choose a recipe with more bits or calibration, or a wider budget"};
    return report->records();
  };
  return {};
}

int compiler::runBuild(int argc, char **argv) {
  runtime::CommandLine app("Compiles a checkpoint to one engine file.", argv[0],
                           recipesByName() + kExamples);
  BuildOptions options;
  addBuildArguments(app, options, kBuild);
  if (auto status = parseArguments(app, argc, argv))
    return *status;

  Progress progress(options.jsonEvents ? ProgressStyle::Json : Progress::styleOfTerminal());
  auto cache = openCache(options, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  if (!options.report.empty())
    if (auto writable = checkReport(options.report); !writable) {
      progress.failed(writable.error().str());
      return 1;
    }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  std::string exceeded;
  if (!options.gate.empty())
    if (auto checked = addGate(context, options, progress, exceeded); !checked) {
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
    return exceeded.empty() ? 1 : kExceeded;
  }
  if (!options.report.empty())
    if (auto written = writeReport(*report, options.report); !written) {
      progress.failed(written.error().str());
      return 1;
    }
  return 0;
}
