// SPDX-License-Identifier: Apache-2.0
// Small functions of llm operations as an engine: planned and compiled by the stages of a build,
// its weights streamed, loaded and run by the runtime on a guarded device.
#pragma once

#include "codegen/BuildCache.h"
#include "compiler/build/EngineAssembly.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/conformance/CaseModel.h"
#include "tests/conformance/EngineRun.h"
#include <functional>
#include <memory>
#include <string>

namespace ingot::conformance {

/// An argument or result: a tensor, or the bytes of a KV cache or state, which runs modify.
struct HostValue {
  HostTensor tensor;
  std::vector<uint8_t> memory;
};

/// A launch that was run, with the code of its kernel.
struct ObservedLaunch {
  const EngineRun::Seen &launch;
  std::string symbol, source;     ///< the kernel's entry and its template
  const std::string &cubin, &ptx; ///< the first empty unless binaries are compiled
};

/// What CUDA targets compile: what the simulator runs, or binaries too, with all the evidence that
/// a build asks of them; or what the simulator runs, with fallbacks in the place of kernels that
/// have some.
enum class CudaCode : uint8_t { Ptx, PtxAndBinary, PtxOfFallbacks };

/// What kernels are looked for in before they are compiled; null with --no-cache.
std::unique_ptr<codegen::BuildCache> &buildCache();

class CompiledFunction {
public:
  /// Compiles `text`, a module of functions, of which a run is of one; reports a GoogleTest failure
  /// and returns null if that does not work. `context` has the dialects loaded. Where `runs` lists
  /// dims, kernels that none of them takes are left out, and no others may run. `sums`: the order
  /// that products have; null: the target chooses.
  static std::unique_ptr<CompiledFunction>
  compile(mlir::MLIRContext &context, const std::string &target, const std::string &text,
          llvm::ArrayRef<Dims> runs = {}, CudaCode code = CudaCode::Ptx,
          engine::SumsAttr sums = {});

  /// In which orders the kernels of products add, each once.
  llvm::SmallVector<engine::SumsAttr, 0> orders();

  /// Runs the function at `place`; `arguments` in order, memory ones are updated. Returns what it
  /// returns, and nothing after a failure. What the reference and simulators answer is looked for
  /// in the cache first, unless launches are observed. GoogleTest failures report what the runtime
  /// refuses, writes beyond a buffer, and what a simulator finds.
  std::vector<HostValue> run(std::vector<HostValue> &arguments, Dims dims, unsigned place = 0);

  /// How the next runs are simulated, on CUDA targets.
  void simulateIn(const SimulatedMode &chosen) { mode = chosen; }

  /// Replaces the PTX of all kernels by what `change` makes of it; whether that changed any.
  bool changePtx(llvm::function_ref<std::string(const std::string &)> change);

  /// Calls `seen` after each launch.
  void observe(std::function<void(const ObservedLaunch &)> seen) { observer = std::move(seen); }

  /// For each launch the place of the kernel that runs it; one beyond the last where none fits.
  std::vector<size_t> kernelsAt(Dims dims);

  /// The PTX of all kernels without the lines that name the architecture; empty on host targets.
  std::string portablePtx() const;

  /// The function at `place` as it was written.
  mlir::func::FuncOp function(unsigned place = 0);

private:
  bool compileKernels(const codegen::Target &target, llvm::ArrayRef<Dims> runs, CudaCode code);
  /// Writes the engine anew where `arguments` hold other weights than it has.
  bool load(const std::vector<HostValue> &arguments, unsigned place);
  /// Of everything that the answer to a run of the loaded engine follows from.
  std::string keyOf(const std::vector<HostValue> &arguments, Dims dims, unsigned place) const;
  /// Runs on a device; `answer` gets the bytes of memory arguments, then of results.
  bool execute(const std::vector<HostValue> &arguments, Dims dims, unsigned place,
               std::vector<uint8_t> &answer);
  bool writeEngine(llvm::ArrayRef<const HostTensor *> values);
  bool isCuda() const { return target.getBackend() == "cuda"; }
  const std::string *library(llvm::StringRef name) const;
  void show(const EngineRun::Seen &seen);

  mlir::OwningOpRef<mlir::ModuleOp> source;
  engine::TargetAttr target;
  std::vector<CaseWeight> weights;
  compiler::CompiledTarget compiled;
  std::vector<HostTensor> loaded; ///< the weights in `file`; zeros of functions not run so far
  std::shared_ptr<const runtime::EngineFile> file;
  std::function<void(const ObservedLaunch &)> observer;
  SimulatedMode mode;
};

/// Draws tokens with every filter on a CUDA target and shows the launches of llm.sample.
void drawSamples(const std::string &target, const SimulatedMode &mode,
                 const std::function<void(const ObservedLaunch &)> &seen);

/// The context that all tests share, with diagnostics on stderr.
mlir::MLIRContext &sharedContext();

/// Rows of `type` under `dims`.
int64_t rowsOf(mlir::RankedTensorType type, Dims dims);

} // namespace ingot::conformance
