// SPDX-License-Identifier: Apache-2.0
// The stages of a build, from a request to a file that lacks only its metadata.
#pragma once

#include "compiler/build/BuildRequest.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/engine_file/OutputFile.h"
#include "compiler/weights/WeightStreamer.h"

namespace ingot::compiler {

/// One target's result: its module (with @weights and the unit) and its libraries.
struct CompiledTarget {
  engine::UnitOp unit() const;
  mlir::func::FuncOp weights() const {
    mlir::ModuleOp whole = module.get();
    return whole.lookupSymbol<mlir::func::FuncOp>("weights");
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<codegen::CompiledLibrary> libraries;
};

/// Every target's stages up to its unit, in the order asked for; units bear their target's names.
checkpoint::Expected<llvm::SmallVector<CompiledTarget>> runStages(mlir::MLIRContext &context,
                                                                  const BuildRequest &request,
                                                                  const BuildOptions &options,
                                                                  Progress &progress);

/// Compiles the kernels of every target.
checkpoint::Outcome compileKernels(mlir::MLIRContext &context, const BuildRequest &request,
                                   llvm::MutableArrayRef<CompiledTarget> targets,
                                   const BuildOptions &options, Progress &progress);

/// Where the weights of a streamer lie: those of an engine's targets in one section, and what
/// others need beside them in a second one.
struct WeightSections {
  uint32_t own = 0, others = 0;
  uint64_t ownBytes = UINT64_MAX; ///< of the streamer's bytes, those before are the engine's
  uint64_t othersFrom = 0;        ///< of the streamer's bytes, the second section's first
};

/// The streamer of all targets' weights; refuses a cap that is too small for it and for `reserve`.
checkpoint::Expected<WeightStreamer> makeStreamer(const BuildRequest &request,
                                                  llvm::ArrayRef<CompiledTarget> targets,
                                                  const BuildOptions &options, uint64_t reserve);

/// Moves dims, weights and units of all targets into one module. Weights of equal name are the same
/// if the streamer stores them once; otherwise the later one is renamed after its target.
/// `firstFunction`: of `streamer`, the function of the first target.
mlir::OwningOpRef<mlir::ModuleOp>
mergeTargets(mlir::MLIRContext &context, llvm::ArrayRef<CompiledTarget> targets,
             const WeightStreamer &streamer, uint32_t firstFunction, const WeightSections &sections,
             std::vector<WeightPlacement> &placements);

/// A file with all its sections but no metadata, and what the metadata is made from.
struct Assembly {
  OutputFile file;
  mlir::OwningOpRef<mlir::ModuleOp> ir; ///< the engine dialect of the whole engine
  std::vector<WeightPlacement> placements;
  WeightSections weights;
};

/// Appends a section for each library of the target. Errors: those of OutputFile.
checkpoint::Outcome writeLibraries(OutputFile &file, const CompiledTarget &compiled);

/// Bytes of the streamed weights of the first `functions` functions, which come first.
uint64_t bytesOfFunctions(const WeightStreamer &streamer, size_t functions);

/// Writes kernels, tokenizer and weights into a file that shall end up at `options.output`. The
/// modules of `targets` are empty afterwards, their units part of `Assembly::ir`. What `streamer`
/// has of functions beyond these targets' lies in the last section, which is to be removed.
checkpoint::Expected<Assembly> assemble(mlir::MLIRContext &context,
                                        llvm::MutableArrayRef<CompiledTarget> targets,
                                        WeightStreamer &streamer,
                                        const checkpoint::TokenizerSpec &tokenizer,
                                        const BuildOptions &options, Progress &progress);

} // namespace ingot::compiler
