// SPDX-License-Identifier: Apache-2.0
// The stages of a build without its report, its progress and its name.
#include "compiler/build/PreviewEngine.h"

#include "compiler/build/DiagnosticCollector.h"
#include "compiler/engine_file/EngineWriter.h"

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;

Expected<PlannedPreview> compiler::planPreview(mlir::MLIRContext &context,
                                               const BuildRequest &request,
                                               const BuildOptions &options) {
  BuildOptions quiet = options;
  quiet.dumpStage.clear();
  Progress silent(ProgressStyle::Silent);
  auto targets = runStages(context, request, quiet, silent);
  if (!targets)
    return targets.error();
  auto streamer = makeStreamer(request, *targets, options, 0);
  if (!streamer)
    return streamer.error();
  return PlannedPreview{std::move(*targets), std::move(*streamer)};
}

Expected<PreviewEngine> compiler::makePreview(mlir::MLIRContext &context,
                                              const BuildRequest &request, PlannedPreview planned,
                                              const checkpoint::TokenizerSpec &tokenizer,
                                              const BuildOptions &options,
                                              const EngineDescription &description) {
  Progress silent(ProgressStyle::Silent);
  if (auto outcome = compileKernels(context, request, planned.targets, options, silent); !outcome)
    return outcome.error();
  auto assembly = assemble(context, planned.targets, planned.streamer, tokenizer, options, silent);
  if (!assembly)
    return assembly.error();
  DiagnosticCollector diagnostics(context);
  auto metadata = writeEngineMetadata(*assembly->ir, description, assembly->file.sections(),
                                      assembly->placements);
  if (failed(metadata))
    return diagnostics.error();
  auto path = previewEngineFile(assembly->file, *metadata);
  if (!path)
    return path.error();
  return PreviewEngine{std::move(*assembly), *std::move(path)};
}

Error compiler::errorOfRuntime(const std::string &code, llvm::StringRef text,
                               std::string_view doing) {
  text.consume_front(code + ": ");
  std::string told = text.str();
  // A file without a name is reached by a descriptor, which says nothing to anybody.
  const std::string descriptor = "/proc/self/fd/";
  for (size_t at = told.find(descriptor); at != told.npos; at = told.find(descriptor, at)) {
    const size_t end = told.find_first_not_of("0123456789", at + descriptor.size());
    told.replace(at, std::min(end, told.size()) - at, "the engine that is made");
  }
  return Error{code, told, std::string(doing), ""};
}
