// SPDX-License-Identifier: Apache-2.0
// CpuTarget: what the targets of one CPU architecture share. A folder gives its levels, the names
// it takes and a kernel provider.
#pragma once

#include "codegen/native/KernelLibrary.h"

namespace ingot::codegen {

/// One target: its canonical name and everything that follows from it.
struct CpuLevel {
  llvm::StringLiteral name;
  llvm::StringLiteral cpu;      ///< what code is made for, as LLVM calls it
  llvm::StringLiteral features; ///< beyond `cpu`, in LLVM's spelling
  /// What the runtime looks for (runtime/devices/host/HostCpu.h), in LLVM's spelling.
  llvm::ArrayRef<llvm::StringLiteral> required;
  int64_t preference;
  const TemplateSet &(*templates)(); ///< their triple is the level's: the object format follows
  bool onlyByName = false;           ///< never the best one: for tests
};

class CpuTarget : public Target {
public:
  /// `architecture`: what engines and the runtime call it. `levels`: the least capable first; they
  /// last as long as the process.
  CpuTarget(llvm::StringRef architecture, llvm::ArrayRef<CpuLevel> levels)
      : architecture(architecture), levels(levels) {}

  mlir::FailureOr<engine::TargetAttr> parse(mlir::MLIRContext *context, llvm::StringRef name,
                                            std::string &error) const final;
  std::optional<std::string> hostTarget() const final;
  mlir::FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const final;

protected:
  /// The name of the level that `name` asks for; on failure `error` is the whole error.
  virtual std::optional<std::string> canonicalName(llvm::StringRef name,
                                                   std::string &error) const = 0;

  /// The most capable level of which `has` every feature.
  const CpuLevel *bestLevel(llvm::function_ref<bool(llvm::StringRef)> has) const;
  const CpuLevel *levelCalled(llvm::StringRef name) const;

private:
  llvm::StringRef architecture;
  llvm::ArrayRef<CpuLevel> levels;
};

} // namespace ingot::codegen
