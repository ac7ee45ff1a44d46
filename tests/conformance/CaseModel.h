// SPDX-License-Identifier: Apache-2.0
// A case's function as a model: a program, and a checkpoint with its weights.
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
  unsigned argument = 0;
  mlir::RankedTensorType type;
  mlir::RankedTensorType stored; ///< bytes, each row's elements packed, where these are narrower
  checkpoint::Tensor tensor;     ///< in the file
};

/// The weights of `function`, in the order of its arguments.
std::vector<CaseWeight> weightsOf(mlir::func::FuncOp function);

/// Names of what a program reads and writes beside weights.
std::string inputName(unsigned argument);
std::string outputName(unsigned result);

/// What an importer makes for `target`: declared dims, and `function` as the program "step" over
/// llm.weight sources.
mlir::OwningOpRef<mlir::ModuleOp>
modelOf(mlir::func::FuncOp function, llvm::ArrayRef<CaseWeight> weights, engine::TargetAttr target);

/// A checkpoint in the temporary folder with `values`, one for each of `weights`.
checkpoint::Expected<checkpoint::Checkpoint>
writeCheckpoint(llvm::ArrayRef<CaseWeight> weights, llvm::ArrayRef<const HostTensor *> values);

/// A folder of this process, removed when it ends.
const test::TemporaryDirectory &temporaryFolder();

} // namespace ingot::conformance
