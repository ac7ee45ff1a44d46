// SPDX-License-Identifier: Apache-2.0
// Compiles the llm operations of a small function for one target and runs them, one launch after
// the other, as a host device would.
#pragma once

#include "codegen/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/schema/KernelAbi.h"
#include "tests/conformance/HostTensor.h"
#include <map>
#include <memory>
#include <string>

namespace ingot::conformance {

/// The step's dims: tokens, sequences, logit rows, blocks in a row of the block table.
struct Dims {
  int64_t T = 1, S = 1, L = 1, B = 1;
};

/// An argument or result: a tensor, or the bytes of a KV cache or state, which runs modify.
struct HostValue {
  HostTensor tensor;
  std::vector<uint8_t> memory;
};

class CompiledFunction {
public:
  /// Compiles `text`, a module of one func.func; reports a GoogleTest failure and returns null if
  /// that does not work. `context` has the dialects loaded. Only functions for the host can run.
  static std::unique_ptr<CompiledFunction>
  compile(mlir::MLIRContext &context, const std::string &target, const std::string &text);
  ~CompiledFunction();

  /// Runs the function; `arguments` in order, memory ones are updated. Returns what it returns.
  /// GoogleTest failures report writes beyond a buffer and launches that no kernel fits.
  std::vector<HostValue> run(std::vector<HostValue> &arguments, Dims dims);

  mlir::func::FuncOp function();

private:
  struct Launch {
    mlir::Operation *op;
    std::vector<engine::KernelVariant> variants;
    std::vector<IngotKernel> kernels;
  };

  bool chooseKernels(const engine::KernelProvider &provider, engine::TargetAttr target);
  bool load(const std::string &bytes);
  bool execute(const Launch &launch, std::map<void *, HostValue> &values, Dims dims);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  engine::UnitOp unit;
  std::vector<Launch> launches;
  int file = -1; ///< holds the library
  void *library = nullptr;
};

/// The context that all tests share, with diagnostics on stderr.
mlir::MLIRContext &sharedContext();

/// Rows of `type` under `dims`.
int64_t rowsOf(mlir::RankedTensorType type, Dims dims);

} // namespace ingot::conformance
