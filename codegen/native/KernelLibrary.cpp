// SPDX-License-Identifier: Apache-2.0
// Compiles a unit's kernels side by side and links them in the order of the unit.
#include "codegen/native/KernelLibrary.h"

#include "codegen/ForEachParallel.h"
#include "codegen/native/KernelKey.h"
#include "codegen/native/KernelSpecializer.h"
#include "codegen/native/SharedObjectLinker.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Builders.h"
#include <atomic>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr llvm::StringLiteral kLibrary = "kernels";

/// What became of one kernel: an object, or why there is none.
struct Outcome {
  std::string object;
  std::string error;
};

} // namespace

/// The object that `make` makes, or `cache` (null: none) has under the key that `key` gives.
static llvm::Expected<std::string>
objectFor(BuildCache *cache, llvm::function_ref<std::string()> key,
          llvm::function_ref<llvm::Expected<std::string>()> make) {
  return cache ? cachedOrMade(*cache, kObjectKind, key(), make) : make();
}

/// The outcomes of `kernels`, in their order, worked out on up to as many threads as `options` say.
static std::vector<Outcome> specializeAll(llvm::ArrayRef<engine::KernelOp> kernels,
                                          const KernelMachine &machine,
                                          const CompileOptions &options) {
  std::vector<Outcome> outcomes(kernels.size());
  std::atomic<size_t> done = 0;
  forEachParallel(kernels.size(), std::max(options.threads, 1), [&](size_t i) {
    llvm::Expected<std::string> object = objectFor(
        options.cache, [&] { return kernelKey(kernels[i], machine); },
        [&] { return specializeKernel(kernels[i], machine); });
    if (object)
      outcomes[i].object = std::move(*object);
    else
      outcomes[i].error = llvm::toString(object.takeError());
    if (options.progress)
      options.progress(++done, kernels.size());
  });
  return outcomes;
}

FailureOr<llvm::SmallVector<CompiledLibrary>>
codegen::compileKernels(engine::UnitOp unit, const KernelMachine &machine,
                        const CompileOptions &options) {
  llvm::SmallVector<engine::KernelOp> kernels(unit.getBody().getOps<engine::KernelOp>());
  if (kernels.empty())
    return llvm::SmallVector<CompiledLibrary>();
  std::vector<Outcome> outcomes = specializeAll(kernels, machine, options);

  bool failed = false;
  std::vector<std::string> objects;
  for (auto [kernel, outcome] : llvm::zip_equal(kernels, outcomes)) {
    if (!outcome.error.empty()) {
      auto at = llvm::StringRef(outcome.error).split(": ");
      kernel.emitError() << at.first << ": kernel '" << kernel.getSymName() << "' from template '"
                         << kernel.getSource() << "' for target '" << unit.getTarget().getName()
                         << "': " << at.second;
      failed = true;
    }
    objects.push_back(std::move(outcome.object));
  }
  if (failed)
    return failure();

  llvm::Expected<std::string> memory = objectFor(
      options.cache, [&] { return memoryFunctionsKey(machine); },
      [&] { return compileMemoryFunctions(machine); });
  if (!memory)
    return unit.emitError(llvm::toString(memory.takeError()));
  Builder builder(unit.getContext());
  for (auto [kernel, object] : llvm::zip_equal(kernels, objects)) {
    kernel.setLibraryAttr(FlatSymbolRefAttr::get(unit.getContext(), kLibrary));
    kernel.addFacts(
        builder.getNamedAttr("object_bytes", builder.getStringAttr(llvm::Twine(object.size()))));
  }
  objects.push_back(std::move(*memory));
  llvm::Expected<std::string> linked = linkSharedObject(objects);
  if (!linked)
    return unit.emitError() << "INGOT-E4006: linking the kernels of target '"
                            << unit.getTarget().getName()
                            << "': " << llvm::toString(linked.takeError());
  auto inserter = OpBuilder::atBlockBegin(&unit.getBody().front());
  engine::LibraryOp::create(inserter, unit.getLoc(), kLibrary, "host_shared_object");
  return llvm::SmallVector<CompiledLibrary>{
      {kLibrary.str(), "host_shared_object", std::move(*linked)}};
}
