// SPDX-License-Identifier: Apache-2.0
// A case's functions as a model: programs, and a checkpoint with their weights.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/conformance/HostTensor.h"
#include "tests/unit/checkpoint/CheckpointFiles.h"

#include <string>
#include <vector>

namespace ingot::conformance {

/// Ranges that every model is declared for.
inline constexpr int64_t kMostTokens = 4096, kMostSequences = 256, kMostLogitRows = 256,
                         kMostBlocks = 4096, kMostContext = int64_t{1} << 20;

/// An argument that checkpoints store: a tensor of static shape that is no index.
struct CaseWeight {
  unsigned function = 0, argument = 0; ///< of which it is one
  mlir::RankedTensorType type;
  mlir::RankedTensorType stored; ///< bytes, each row's elements packed, where these are narrower
  checkpoint::Tensor tensor;     ///< in the file
};

/// The function that becomes the program "step"; others become programs of their names.
inline constexpr llvm::StringLiteral kStepFunction = "f";

/// The weights of all functions, in the order of their arguments.
std::vector<CaseWeight> weightsOf(mlir::ModuleOp functions);

/// Names of what a program reads and writes beside weights.
std::string inputName(unsigned argument, llvm::StringRef function = kStepFunction);
std::string outputName(unsigned result, llvm::StringRef function = kStepFunction);

/// What an importer makes for `target`: declared dims, and the functions as programs over
/// llm.weight sources.
mlir::OwningOpRef<mlir::ModuleOp>
modelOf(mlir::ModuleOp functions, llvm::ArrayRef<CaseWeight> weights, engine::TargetAttr target);

/// A checkpoint in the temporary folder with `values`, one for each of `weights`.
checkpoint::Expected<checkpoint::Checkpoint>
writeCheckpoint(llvm::ArrayRef<CaseWeight> weights, llvm::ArrayRef<const HostTensor *> values);

/// A folder of this process, removed when it ends.
const test::TemporaryDirectory &temporaryFolder();

} // namespace ingot::conformance
