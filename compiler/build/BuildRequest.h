// SPDX-License-Identifier: Apache-2.0
// What a build is asked for, checked: model, recipe, limits and targets. Nothing is compiled yet.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/build/Progress.h"

namespace ingot::compiler {

/// Everything that is known before any compilation.
struct BuildRequest {
  checkpoint::Checkpoint checkpoint;
  recipe::Recipe recipe;
  EngineLimits limits;
  KernelTuning tuning;
  std::vector<std::pair<const codegen::Target *, engine::TargetAttr>> targets;
  std::vector<OptionRecord> options;
  std::vector<std::string> unreadTensors; ///< of the checkpoint, which the engine is built without
  const TappedPart *part = nullptr;       ///< unless null, nothing else of the model is built
};

/// The checkpoint with the adapter that is merged into it; of random weights the configuration and
/// the tensors of its family. Errors: those of the readers, INGOT-E2101.
checkpoint::Expected<checkpoint::Checkpoint> openCheckpoint(mlir::MLIRContext &context,
                                                            const BuildOptions &options);

/// Reads and checks everything that `options` name; effective values and their reasons go into
/// `BuildRequest::options`. Errors: those of the readers, INGOT-E2101 and E2102, and those of
/// targets.
checkpoint::Expected<BuildRequest> readRequest(mlir::MLIRContext &context,
                                               const BuildOptions &options, Progress &progress);

/// The same of what does not depend on the recipe, which need not be there yet: model, targets,
/// limits and tuning.
checkpoint::Expected<BuildRequest> readRequestButRecipe(mlir::MLIRContext &context,
                                                        const BuildOptions &options);

/// Puts what files state and the engine does otherwise into the options' records, and what is to be
/// told on the terminal.
void sayDeviations(BuildRequest &request, llvm::ArrayRef<checkpoint::Deviation> deviations,
                   Progress &progress);

} // namespace ingot::compiler
