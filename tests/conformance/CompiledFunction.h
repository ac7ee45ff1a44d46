// SPDX-License-Identifier: Apache-2.0
// Compiles the llm operations of a small function for one target and runs them, one launch after
// the other, as a device would: on this machine, or for a CUDA target in the simulator.
#pragma once

#include "codegen/Target.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/schema/KernelAbi.h"
#include "tests/conformance/EmulatedCpu.h"
#include "tests/conformance/SimulatedGpu.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace ingot::conformance {

/// The step's dims: tokens, sequences, logit rows, blocks in a row of the block table.
struct Dims {
  int64_t T = 1, S = 1, L = 1, B = 1;
  int64_t sms = 1; ///< multiprocessors, set by `run`
};

/// An argument or result: a tensor, or the bytes of a KV cache or state, which runs modify.
struct HostValue {
  HostTensor tensor;
  std::vector<uint8_t> memory;
};

/// A simulated launch and what its buffers held: those of the operation's operands, then of its
/// results, which hold nothing before.
struct ObservedLaunch {
  mlir::Operation *op;
  const SimulatedLaunch &call;
  std::vector<std::vector<uint8_t>> before, after;
  const std::string &cubin, &ptx;
};

class CompiledFunction {
public:
  /// Compiles `text`, a module of one func.func; reports a GoogleTest failure and returns null if
  /// that does not work. `context` has the dialects loaded. Only functions for the host can run.
  /// Where `runs` lists dims, kernels that none of them takes are left out, and no others may run.
  static std::unique_ptr<CompiledFunction> compile(mlir::MLIRContext &context,
                                                   const std::string &target,
                                                   const std::string &text,
                                                   llvm::ArrayRef<Dims> runs = {});
  ~CompiledFunction();

  /// Runs the function; `arguments` in order, memory ones are updated. Returns what it returns.
  /// GoogleTest failures report writes beyond a buffer and launches that no kernel fits.
  std::vector<HostValue> run(std::vector<HostValue> &arguments, Dims dims);

  /// How the next runs are simulated, on CUDA targets.
  void simulateIn(const SimulatedMode &chosen) { mode = chosen; }

  /// Calls `seen` after each launch that is simulated.
  void observe(std::function<void(const ObservedLaunch &)> seen) { observer = std::move(seen); }

  /// For each launch the place of the kernel that runs it; one beyond the last where none fits.
  std::vector<size_t> kernelsAt(Dims dims) const;

  /// The PTX of all kernels without the lines that name the architecture; empty on host targets.
  std::string portablePtx() const;

  mlir::func::FuncOp function();

private:
  struct Launch {
    mlir::Operation *op;
    std::vector<engine::KernelVariant> variants;
    std::vector<IngotKernel> kernels; ///< null and
    std::vector<std::string> symbols; ///< empty: left out
  };

  bool chooseKernels(const engine::KernelProvider &provider, engine::TargetAttr target,
                     llvm::ArrayRef<Dims> runs);
  bool load(llvm::ArrayRef<codegen::CompiledLibrary> libraries);
  bool loadHost(const std::string &bytes);
  static size_t kernelAt(const Launch &launch, Dims dims);
  bool runTiles(const Launch &launch, size_t variant, Dims dims,
                std::vector<KernelBuffer> &buffers);
  int64_t workspaceBytes(const Launch &launch, Dims dims) const;
  bool simulate(const Launch &launch, size_t variant, Dims dims,
                std::vector<KernelBuffer> &buffers);
  bool execute(const Launch &launch, std::map<void *, HostValue> &values, Dims dims);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  engine::UnitOp unit;
  std::vector<Launch> launches;
  int file = -1; ///< holds the library
  void *library = nullptr;
  std::unique_ptr<EmulatedCpu> emulated;          ///< runs the library's kernels; null: this CPU
  std::string architecture;                       ///< of a CUDA target; empty for the host's
  std::map<std::string, std::string> ptx, cubins; ///< by kernel
  std::function<void(const ObservedLaunch &)> observer;
  SimulatedMode mode;
  std::unique_ptr<SimulatedGpu> gpu; ///< during a run
};

/// Draws tokens with every filter on a CUDA target and shows the launches of llm.sample.
void drawSamples(const std::string &target, const SimulatedMode &mode,
                 const std::function<void(const ObservedLaunch &)> &seen);

/// The context that all tests share, with diagnostics on stderr.
mlir::MLIRContext &sharedContext();

/// Rows of `type` under `dims`.
int64_t rowsOf(mlir::RankedTensorType type, Dims dims);

} // namespace ingot::conformance
