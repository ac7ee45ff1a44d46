// SPDX-License-Identifier: Apache-2.0
// An engine that only this process runs: its file has no name.
#pragma once

#include "compiler/build/EngineAssembly.h"

namespace ingot::compiler {

/// Up to the weights' layout: what the engine will need is known, nothing is compiled.
struct PlannedPreview {
  llvm::SmallVector<CompiledTarget> targets;
  WeightStreamer streamer;
};

/// The engine, readable under `path` while this lives.
struct PreviewEngine {
  Assembly assembly;
  std::filesystem::path path;
};

/// Runs the stages for the request's targets. `options`: of the build; nothing is dumped.
checkpoint::Expected<PlannedPreview>
planPreview(mlir::MLIRContext &context, const BuildRequest &request, const BuildOptions &options);

/// Compiles and writes what was planned.
checkpoint::Expected<PreviewEngine> makePreview(mlir::MLIRContext &context,
                                                const BuildRequest &request, PlannedPreview planned,
                                                const checkpoint::TokenizerSpec &tokenizer,
                                                const BuildOptions &options,
                                                const EngineDescription &description);

/// `error` of the runtime, which begins its text with its code.
checkpoint::Error errorOfRuntime(const std::string &code, llvm::StringRef text,
                                 std::string_view doing);

} // namespace ingot::compiler
