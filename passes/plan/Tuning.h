// SPDX-License-Identifier: Apache-2.0
// Kernels that were measured take the place of those that the target's cost model prefers.
#pragma once

#include "dialects/engine/KernelProvider.h"

namespace ingot {

/// What the notes about tuning bear as their pass.
inline constexpr llvm::StringLiteral kTuningPass = "tuning";

/// What a module says of tuning: `engine.tuning` (an array of #engine.tuning, those of the module's
/// target) and `engine.tuning_candidates` (every kernel that may be chosen is wanted).
class Tuning {
public:
  Tuning(mlir::ModuleOp module, const engine::KernelProvider &provider,
         llvm::ArrayRef<engine::RangeAttr> declared);

  /// Applies it to the kernels of `op`, best first, which cover `declared` before and after: chosen
  /// ones come first, and those that nothing is left for are dropped; wanted ones come last.
  void choose(mlir::Operation *op, llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

  /// Notes for each entry whether a launch follows it, or why none does.
  void report(mlir::OpBuilder &builder) const;

private:
  /// What became of an entry at the operations seen so far.
  struct Entry {
    engine::TuningAttr tuning;
    bool applied = false;
    std::string reason;
  };
  using Kernels = llvm::SmallVectorImpl<engine::KernelVariant>;

  std::optional<engine::KernelVariant> place(Entry &entry, const Kernels &candidates,
                                             engine::RangeAttr rows) const;

  const engine::KernelProvider &provider;
  llvm::ArrayRef<engine::RangeAttr> declared;
  bool wantsCandidates;
  std::vector<Entry> entries;
};

} // namespace ingot
