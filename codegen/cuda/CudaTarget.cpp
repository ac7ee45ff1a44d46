// SPDX-License-Identifier: Apache-2.0
// The targets' names, and how their kernels are compiled: each alone, side by side, equal ones
// once.
#include "codegen/cuda/CudaTarget.h"

#include "codegen/BuildCache.h"
#include "codegen/ForEachParallel.h"
#include "codegen/cuda/CudaArchitecture.h"
#include "codegen/cuda/KernelEvidence.h"
#include "codegen/cuda/LaunchCost.h"
#include "codegen/cuda/Nvrtc.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include <atomic>

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

  bool spills() const { return error.empty() && facts.localAccesses() + facts.stackBytes != 0; }
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

  FastProducts fastProducts() const override { return FastProducts::SixteenBit; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr target) const override {
    return createCudaProvider(target);
  }

  /// NVRTC itself, and a few kernels at work (150 MiB were measured).
  uint64_t compileMemory() const override { return uint64_t{224} << 20; }

  FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const override;
};

/// Kinds of the entries in a BuildCache.
constexpr llvm::StringLiteral kPtxKind = "cuda-ptx";
constexpr llvm::StringLiteral kCubinKind = "cuda-cubin";
constexpr llvm::StringLiteral kLogKind = "cuda-log";

/// What `nvrtc` makes of `source`, or the cache has: PTX, and a cubin where it is wanted. Both come
/// of one run of the compiler, to which PTX alone is the shorter part.
llvm::Expected<CompiledKernel> codeOf(const KernelSource &source, const Nvrtc &nvrtc,
                                      const CompileOptions &options) {
  std::string key;
  if (options.cache) {
    key = CacheKey().add(nvrtc.identity()).add(source.digest()).add(source.name).text();
    std::optional<std::string> ptx = options.cache->get(kPtxKind, key), cubin, log;
    if (!options.ptxOnly) {
      cubin = options.cache->get(kCubinKind, key);
      log = options.cache->get(kLogKind, key);
    }
    if (ptx && ((cubin && log) || options.ptxOnly))
      return CompiledKernel{std::move(cubin).value_or(""), std::move(*ptx),
                            std::move(log).value_or("")};
  }
  llvm::Expected<CompiledKernel> code = nvrtc.compile(source, options.ptxOnly);
  if (code && options.cache) {
    options.cache->put(kPtxKind, key, code->ptx);
    if (!options.ptxOnly) {
      options.cache->put(kCubinKind, key, code->cubin);
      options.cache->put(kLogKind, key, code->log);
    }
  }
  return code;
}

/// Compiles one kernel, and inspects its binary.
Outcome compileOne(const KernelSource &source, const Nvrtc &nvrtc, const CompileOptions &options) {
  Outcome outcome;
  llvm::Expected<CompiledKernel> compiled = codeOf(source, nvrtc, options);
  if (!compiled) {
    outcome.error = llvm::toString(compiled.takeError());
    return outcome;
  }
  outcome.compiled = std::move(*compiled);
  if (options.ptxOnly)
    return outcome;
  llvm::Expected<CubinFacts> facts = inspectCubin(outcome.compiled.cubin);
  if (facts)
    outcome.facts = std::move(*facts);
  else
    outcome.error = "INGOT-E4303: " + llvm::toString(facts.takeError());
  return outcome;
}

/// The kernels of a unit, and what became of those that are compiled: of kernels whose sources
/// differ in the name only, the first.
struct CompiledKernels {
  llvm::SmallVector<engine::KernelOp> kernels;
  std::vector<size_t> compiledAs; ///< for each kernel the index of the one that is compiled
  std::vector<Outcome> outcomes;
};

/// Compiles `kernels` on up to `threads` threads.
CompiledKernels compileAll(llvm::SmallVector<engine::KernelOp> kernels,
                           const CudaArchitecture &architecture, const Nvrtc &nvrtc,
                           const CompileOptions &options) {
  CompiledKernels all;
  all.kernels = std::move(kernels);
  all.outcomes.resize(all.kernels.size());
  std::vector<KernelSource> sources(all.kernels.size());
  llvm::StringMap<size_t> known;
  std::vector<size_t> wanted;
  for (auto [i, kernel] : llvm::enumerate(all.kernels)) {
    all.compiledAs.push_back(i);
    llvm::Expected<KernelSource> source = kernelSource(kernel, architecture);
    if (!source) {
      all.outcomes[i].error = llvm::toString(source.takeError());
      continue;
    }
    auto [first, isNew] = known.try_emplace(source->digest(), i);
    all.compiledAs[i] = first->second;
    if (isNew)
      wanted.push_back(i);
    sources[i] = std::move(*source);
  }
  // The kernel of @sample stands last and takes the longest: it must not be what the others wait
  // for.
  std::reverse(wanted.begin(), wanted.end());
  std::atomic<size_t> done = 0;
  forEachParallel(wanted.size(), std::max(options.threads, 1), [&](size_t i) {
    all.outcomes[wanted[i]] = compileOne(sources[wanted[i]], nvrtc, options);
    if (options.progress)
      options.progress(++done, wanted.size());
  });
  return all;
}

/// The kernels that may take others' places: each one's fallback by its name.
using Fallbacks = llvm::StringMap<engine::KernelOp>;

Fallbacks fallbacksOf(engine::UnitOp unit) {
  Fallbacks fallbacks;
  unit.walk([&](engine::LaunchOp launch) {
    auto variants = launch.getVariants().getAsRange<engine::VariantAttr>();
    llvm::StringRef before;
    for (engine::VariantAttr variant : variants) {
      llvm::StringRef name = variant.getKernel().getValue();
      auto kernel = cast<engine::KernelOp>(SymbolTable::lookupSymbolIn(unit, name));
      if (DictionaryAttr facts = kernel.getFactsAttr(); facts && facts.get(engine::kFallback))
        fallbacks[before] = kernel;
      before = name;
    }
  });
  return fallbacks;
}

/// Takes the kernels that `dropped` names out of the unit. What takes their places has the same
/// guards, so that the rows of the proof of coverage still hold.
void drop(engine::UnitOp unit, const llvm::StringSet<> &dropped) {
  auto without = [&](ArrayAttr list, auto nameOf) {
    llvm::SmallVector<Attribute> kept(llvm::make_filter_range(
        list, [&](Attribute entry) { return !dropped.contains(nameOf(entry)); }));
    return ArrayAttr::get(unit.getContext(), kept);
  };
  auto symbol = [](Attribute name) { return cast<FlatSymbolRefAttr>(name).getValue(); };
  unit.walk([&](Operation *op) {
    if (auto launch = dyn_cast<engine::LaunchOp>(op))
      launch.setVariantsAttr(without(launch.getVariants(), [&](Attribute variant) {
        return symbol(cast<engine::VariantAttr>(variant).getKernel());
      }));
    else if (auto row = dyn_cast<engine::CoverageOp>(op))
      row.setKernelsAttr(without(row.getKernels(), symbol));
  });
  for (engine::KernelOp kernel :
       llvm::make_early_inc_range(unit.getBody().getOps<engine::KernelOp>()))
    if (dropped.contains(kernel.getSymName()))
      kernel.erase();
}

/// Compiles the kernels of `unit`, and of fallbacks those that are needed; the others, and what
/// they stand for, leave the unit.
std::vector<CompiledKernels> compileUnit(engine::UnitOp unit, const CudaArchitecture &architecture,
                                         const Nvrtc &nvrtc, const CompileOptions &options) {
  Fallbacks fallbacks = fallbacksOf(unit);
  llvm::StringSet<> dropped;
  for (auto &[before, kernel] : fallbacks)
    dropped.insert(kernel.getSymName());
  llvm::SmallVector<engine::KernelOp> wanted;
  for (engine::KernelOp kernel : unit.getBody().getOps<engine::KernelOp>())
    if (!dropped.contains(kernel.getSymName()))
      wanted.push_back(kernel);
  std::vector<CompiledKernels> rounds;
  auto notes = OpBuilder::atBlockEnd(&unit.getBody().front());
  while (!wanted.empty()) {
    CompiledKernels round = compileAll(std::exchange(wanted, {}), architecture, nvrtc, options);
    for (auto [i, kernel] : llvm::enumerate(round.kernels)) {
      auto fallback = fallbacks.find(kernel.getSymName());
      bool isTaken = options.takeFallbacks || round.outcomes[round.compiledAs[i]].spills();
      if (fallback == fallbacks.end() || !isTaken)
        continue;
      engine::NoteOp::create(notes, kernel.getLoc(), "kernel-fallback", kernel.getSymName(), false,
                             ("the compiler has too few registers for it: " +
                              fallback->second.getSymName() + " runs instead")
                                 .str());
      dropped.insert(kernel.getSymName());
      dropped.erase(fallback->second.getSymName());
      wanted.push_back(fallback->second);
      round.kernels[i] = nullptr;
    }
    rounds.push_back(std::move(round));
  }
  drop(unit, dropped);
  return rounds;
}

/// States what became of kernels, and gathers their binaries.
class Libraries {
public:
  Libraries(engine::UnitOp unit, const CudaArchitecture &architecture,
            const CompileOptions &options)
      : unit(unit), architecture(architecture), options(options),
        builder(OpBuilder::atBlockBegin(&unit.getBody().front())) {}

  LogicalResult add(CompiledKernels &all) {
    bool failed = false;
    for (size_t i = 0; i < all.kernels.size(); ++i)
      if (all.kernels[i])
        failed |= mlir::failed(add(all, i));
    return failure(failed);
  }

  llvm::SmallVector<CompiledLibrary> compiled;

private:
  void add(engine::KernelOp kernel, llvm::StringRef kind, const std::string &bytes) {
    std::string name = (kernel.getSymName() + "." + kind).str();
    engine::LibraryOp::create(builder, kernel.getLoc(), name, kind);
    compiled.push_back({name, kind.str(), bytes});
  }

  LogicalResult add(CompiledKernels &all, size_t i);

  engine::UnitOp unit;
  const CudaArchitecture &architecture;
  const CompileOptions &options;
  OpBuilder builder;
};

LogicalResult Libraries::add(CompiledKernels &all, size_t i) {
  engine::KernelOp kernel = all.kernels[i], first = all.kernels[all.compiledAs[i]];
  Outcome &outcome = all.outcomes[all.compiledAs[i]];
  std::string error = outcome.error;
  kernel.setLibraryAttr(FlatSymbolRefAttr::get(
      unit.getContext(), first.getSymName().str() + (options.ptxOnly ? ".ptx" : ".cubin")));
  if (error.empty() && !options.ptxOnly)
    if (auto missing = missingEvidence(kernel, outcome.facts, architecture))
      error = "INGOT-E4304: " + *missing;
  if (error.empty())
    if (auto fault = logFault(outcome.compiled.log))
      error = "INGOT-E4306: " + *fault;
  if (!error.empty()) {
    auto at = llvm::StringRef(error).split(": ");
    return kernel.emitError() << at.first << ": kernel '" << kernel.getSymName()
                              << "' from template '" << kernel.getSource() << "' for target '"
                              << unit.getTarget().getName() << "': " << at.second;
  }
  if (!options.ptxOnly)
    kernel.addFacts(evidenceFacts(kernel, outcome.facts, architecture,
                                  outcome.compiled.cubin.size(), outcome.compiled.ptx));
  if (first != kernel)
    return success();
  if (!options.ptxOnly)
    add(kernel, "cubin", outcome.compiled.cubin);
  if (options.keepPtx || options.ptxOnly)
    add(kernel, "ptx", outcome.compiled.ptx);
  return success();
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
  std::vector<CompiledKernels> rounds = compileUnit(unit, *architecture, **nvrtc, options);
  Libraries libraries(unit, *architecture, options);
  bool failed = false;
  for (CompiledKernels &round : rounds)
    failed |= mlir::failed(libraries.add(round));
  if (failed)
    return failure();
  stateCosts(unit, *architecture);
  unit.setToolkit((*nvrtc)->toolkit());
  unit.setMinimumDriver(kMinimumDriver);
  return std::move(libraries.compiled);
}

} // namespace

const Target &codegen::cudaTarget() {
  static const CudaTarget target;
  return target;
}
