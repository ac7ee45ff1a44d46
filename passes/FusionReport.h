// SPDX-License-Identifier: Apache-2.0
// How a pass asks the target about a site and records what it did there, or why not.
#pragma once

#include "dialects/engine/KernelProvider.h"
#include "mlir/Pass/Pass.h"

namespace ingot {

/// One pass's view of a module: its target's kernel provider and the notes it leaves.
class FusionReport {
public:
  /// `pass` is the pass's flag, such as "ingot-fuse-norm".
  FusionReport(mlir::ModuleOp module, llvm::StringRef pass);

  /// False, with a diagnostic already emitted, when the module names no known target.
  explicit operator bool() const { return provider != nullptr; }

  const engine::KernelProvider &target() const { return *provider; }

  /// Whether the target accepts `fusion` at `site`; notes its reason when it does not.
  bool accepts(engine::Fusion fusion, mlir::Operation *site);

  /// Hands every `Op` that the module holds now to `visit`, which may erase it.
  template <class Op> void forEach(llvm::function_ref<void(Op)> visit) {
    llvm::SmallVector<Op> sites;
    module.walk([&](Op op) { sites.push_back(op); });
    for (Op site : sites)
      visit(site);
  }

  void applied(mlir::Operation *site);
  void declined(mlir::Operation *site, const llvm::Twine &reason);

private:
  void note(mlir::Operation *site, bool applied, const llvm::Twine &reason);

  mlir::ModuleOp module;
  std::string pass;
  std::unique_ptr<engine::KernelProvider> provider;
};

/// The name of the place in the model that `op` comes from ("layers.0.self_attn.q_proj"), else the
/// operation's name.
std::string siteOf(mlir::Operation *op);

/// A location with another site name.
mlir::Location atSite(mlir::MLIRContext *context, const llvm::Twine &site);

/// Whether `value` depends on weights alone.
bool isWeight(mlir::Value value);
/// Whether `op` is part of a weight's expression: its results are weights.
bool isWeightOperation(mlir::Operation *op);

} // namespace ingot
