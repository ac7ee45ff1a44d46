// SPDX-License-Identifier: Apache-2.0
// ingot build
#include "compiler/build/BuildReport.h"
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
    "  ingot build my-model -o my-model.ingot --recipe int4\n"
    "  ingot build my-model -o my-model.ingot --recipe int4.yaml --report report.json\n"
    "  ingot build my-model -o my-model.ingot --target x86-64-v4+vnni+bf16 --target x86-64-v3\n"
    "  ingot build my-model -o my-model.ingot --max-context 4096 --max-build-memory 1GiB\n"
    "  ingot build my-model -o candidates.ingot --target sm_90a --tuning-candidates\n"
    "  ingot build my-model -o my-model.ingot --target sm_90a --tuning tuning.lock\n"
    "  ingot build my-model -o my-model.ingot --cache /fast/disk/kernels --cache-limit 8GiB\n";

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
  return 0;
}
