// SPDX-License-Identifier: Apache-2.0
// The whole order of compilation for one target, as named stages.
#pragma once

#include "codegen/Target.h"
#include "compiler/importers/Importer.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/tuning/TuningLock.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <map>

namespace ingot::compiler {

struct ProductList;

/// Largest step that an engine is declared for.
struct EngineLimits {
  int64_t maxTokens = 512;   ///< tokens of a step
  int64_t maxSequences = 64; ///< sequences in a step
  int64_t maxContext = 0;    ///< positions of a sequence; 0: the model's own limit
  int64_t maxLogitRows = 64; ///< rows of logits of a step
  int64_t maxImageRows = 0;  ///< rows of one run of @encode; 0: it is not there
};

/// What kernels are chosen by, beside the targets' cost models.
struct KernelTuning {
  engine::Determinism determinism = engine::Determinism::Strict; ///< of the orders of sums
  tuning::TuningLock lock;
  bool candidates = false; ///< launches also get every kernel that tuning may choose
};

/// A named part of the order; `--dump-stage` prints the module after it.
struct Stage {
  llvm::StringRef name;
  void (*addPasses)(mlir::OpPassManager &);
};

/// All stages after import, in order.
llvm::ArrayRef<Stage> stages();

/// Names that `--dump-stage` knows: import, then stages().
std::vector<std::string> stageNames();

/// Loads Ingot's dialects into `context` and injects the targets' kernel providers.
void prepareContext(mlir::MLIRContext &context);

/// The matrices of an imported model to which recipes give formats, by the names that the model
/// uses: both of a tied one, those of experts whatever stack they are stored in.
std::vector<std::string> matrixNames(mlir::ModuleOp module);

/// In which formats the encoder of an imported model holds how many of its matrices; empty: it has
/// no encoder.
std::map<std::string, size_t> encoderFormats(mlir::ModuleOp module, const recipe::Recipe &recipe);

/// The matrices of an imported model, by name, that are stored quantized and that the recipe
/// quantizes again.
std::vector<std::string> quantizedAgain(mlir::ModuleOp module, const recipe::Recipe &recipe);

/// A part of a model whose products are looked at.
struct TappedPart : ModelPart {
  ProductList *products = nullptr; ///< gets them; their inputs are taps
  bool tapsCaches = false;         ///< so are the keys and values that it appends to KV caches
};

/// Called with a stage's name and the module after it.
using StageObserver = std::function<void(llvm::StringRef stage, mlir::ModuleOp module)>;

/// Imports `checkpoint`, or of it `part` unless null, and runs every stage for `target`. The result
/// holds the declared dims,
/// @weights, and one complete engine.unit without libraries. Failure comes with diagnostics.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
runPipeline(mlir::MLIRContext &context, const checkpoint::Checkpoint &checkpoint,
            const recipe::Recipe &recipe, engine::TargetAttr target, const EngineLimits &limits,
            const KernelTuning &tuning, const TappedPart *part, const StageObserver &observer);

} // namespace ingot::compiler
