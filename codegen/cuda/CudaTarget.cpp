// SPDX-License-Identifier: Apache-2.0
// The targets' names, and how their kernels are compiled: each alone, side by side.
#include "codegen/cuda/CudaTarget.h"

#include "codegen/cuda/CudaArchitecture.h"
#include "codegen/cuda/KernelCache.h"
#include "codegen/cuda/KernelEvidence.h"
#include "codegen/native/ForEachParallel.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// The CUDA version of the oldest driver that loads what NVRTC 13 writes (release 580.65.06).
constexpr llvm::StringLiteral kMinimumDriver = "13.0";

/// What became of one kernel: binaries and facts, or why there are none.
struct Outcome {
  CompiledKernel compiled;
  CubinFacts facts;
  std::string error;
};

class CudaTarget final : public Target {
public:
  llvm::StringRef backend() const override { return "cuda"; }

  std::string namesAccepted() const override {
    std::string names;
    for (const CudaArchitecture &architecture : cudaArchitectures())
      names += (names.empty() ? "" : ", ") + architecture.name.str();
    return names;
  }

  bool claims(llvm::StringRef name) const override { return name.starts_with("sm_"); }

  FailureOr<engine::TargetAttr> parse(MLIRContext *context, llvm::StringRef name,
                                      std::string &error) const override {
    const CudaArchitecture *architecture = findCudaArchitecture(name);
    if (!architecture) {
      error =
          ("INGOT-E4302: target '" + name + "': no kernels are built for it; known are ").str() +
          namesAccepted();
      return failure();
    }
    return engine::TargetAttr::get(context, name, backend(), name, {}, architecture->version);
  }

  std::optional<std::string> hostTarget() const override { return std::nullopt; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr target) const override {
    return createCudaProvider(target);
  }

  /// NVRTC itself, and a few kernels at work (150 MiB were measured).
  uint64_t compileMemory() const override { return uint64_t{224} << 20; }

  FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const override;
};

/// Compiles and inspects one kernel.
Outcome compileOne(engine::KernelOp kernel, const CudaArchitecture &architecture,
                   const Nvrtc &nvrtc, KernelCache &cache) {
  Outcome outcome;
  llvm::Expected<KernelSource> source = kernelSource(kernel, architecture);
  if (!source) {
    outcome.error = llvm::toString(source.takeError());
    return outcome;
  }
  llvm::Expected<CompiledKernel> compiled = cache.get(nvrtc, *source);
  if (!compiled) {
    outcome.error = llvm::toString(compiled.takeError());
    return outcome;
  }
  outcome.compiled = std::move(*compiled);
  llvm::Expected<CubinFacts> facts = inspectCubin(outcome.compiled.cubin);
  if (!facts) {
    outcome.error = "INGOT-E4303: " + llvm::toString(facts.takeError());
    return outcome;
  }
  outcome.facts = std::move(*facts);
  if (auto missing = missingEvidence(kernel, outcome.facts, architecture))
    outcome.error = "INGOT-E4304: " + *missing;
  return outcome;
}

/// The outcomes of `kernels`, in their order, worked out on up to `threads` threads.
std::vector<Outcome> compileAll(llvm::ArrayRef<engine::KernelOp> kernels,
                                const CudaArchitecture &architecture, const Nvrtc &nvrtc,
                                const CompileOptions &options) {
  KernelCache cache(options.kernelCache);
  std::vector<Outcome> outcomes(kernels.size());
  forEachParallel(kernels.size(), std::max(options.threads, 1), [&](size_t i) {
    outcomes[i] = compileOne(kernels[i], architecture, nvrtc, cache);
  });
  return outcomes;
}

FailureOr<llvm::SmallVector<CompiledLibrary>>
CudaTarget::compile(engine::UnitOp unit, const CompileOptions &options) const {
  const CudaArchitecture *architecture = findCudaArchitecture(unit.getTarget().getArch());
  if (!architecture)
    return unit.emitError() << "INGOT-E4302: target '" << unit.getTarget().getName()
                            << "': no kernels are built for it; known are " << namesAccepted();
  llvm::Expected<std::shared_ptr<const Nvrtc>> nvrtc = Nvrtc::load(options.nvrtc);
  if (!nvrtc)
    return unit.emitError(llvm::toString(nvrtc.takeError()));
  llvm::SmallVector<engine::KernelOp> kernels(unit.getBody().getOps<engine::KernelOp>());
  std::vector<Outcome> outcomes = compileAll(kernels, *architecture, **nvrtc, options);

  Builder builder(unit.getContext());
  auto libraries = OpBuilder::atBlockBegin(&unit.getBody().front());
  llvm::SmallVector<CompiledLibrary> compiled;
  bool failed = false;
  for (auto [kernel, outcome] : llvm::zip_equal(kernels, outcomes)) {
    if (!outcome.error.empty()) {
      auto at = llvm::StringRef(outcome.error).split(": ");
      kernel.emitError() << at.first << ": kernel '" << kernel.getSymName() << "' from template '"
                         << kernel.getSource() << "' for target '" << unit.getTarget().getName()
                         << "': " << at.second;
      failed = true;
      continue;
    }
    std::string name = kernel.getSymName().str();
    kernel.setLibraryAttr(FlatSymbolRefAttr::get(unit.getContext(), name + ".cubin"));
    kernel.addFacts(evidenceFacts(kernel, outcome.facts, *architecture,
                                  outcome.compiled.cubin.size(), outcome.compiled.ptx));
    engine::LibraryOp::create(libraries, kernel.getLoc(), name + ".cubin", "cubin");
    engine::LibraryOp::create(libraries, kernel.getLoc(), name + ".ptx", "ptx");
    compiled.push_back({name + ".cubin", "cubin", std::move(outcome.compiled.cubin)});
    compiled.push_back({name + ".ptx", "ptx", std::move(outcome.compiled.ptx)});
  }
  if (failed)
    return failure();
  unit.setToolkit((*nvrtc)->toolkit());
  unit.setMinimumDriver(kMinimumDriver);
  return compiled;
}

} // namespace

const Target &codegen::cudaTarget() {
  static const CudaTarget target;
  return target;
}
