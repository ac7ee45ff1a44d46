// SPDX-License-Identifier: Apache-2.0
// Levels of a CPU architecture as targets.
#include "codegen/native/CpuTarget.h"

#include "dialects/engine/EngineOps.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

const CpuLevel *CpuTarget::levelCalled(llvm::StringRef name) const {
  const auto *found =
      llvm::find_if(levels, [&](const CpuLevel &level) { return level.name == name; });
  return found == levels.end() ? nullptr : found;
}

const CpuLevel *CpuTarget::bestLevel(llvm::function_ref<bool(llvm::StringRef)> has) const {
  for (const CpuLevel &level : llvm::reverse(levels))
    if (!level.onlyByName && llvm::all_of(level.required, has))
      return &level;
  return nullptr;
}

FailureOr<engine::TargetAttr> CpuTarget::parse(MLIRContext *context, llvm::StringRef name,
                                               std::string &error) const {
  std::optional<std::string> canonical = canonicalName(name, error);
  if (!canonical)
    return failure();
  const CpuLevel &level = *levelCalled(*canonical);
  llvm::SmallVector<StringAttr> features;
  for (llvm::StringRef feature : level.required)
    features.push_back(StringAttr::get(context, feature));
  return engine::TargetAttr::get(context, level.name, backend(), architecture, features,
                                 level.preference);
}

std::optional<std::string> CpuTarget::hostTarget() const {
  const llvm::Triple host(llvm::sys::getProcessTriple());
  if (host.getArch() != llvm::Triple(levels.front().templates().triple).getArch())
    return std::nullopt;
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const CpuLevel *best =
      bestLevel([&](llvm::StringRef feature) { return features.lookup(feature); });
  return best ? std::optional(best->name.str()) : std::nullopt;
}

FailureOr<llvm::SmallVector<CompiledLibrary>>
CpuTarget::compile(engine::UnitOp unit, const CompileOptions &options) const {
  const CpuLevel *level = levelCalled(unit.getTarget().getName());
  if (!level)
    return unit.emitError() << "INGOT-E4000: target '" << unit.getTarget().getName()
                            << "' is unknown; known are " << namesAccepted();
  return compileKernels(unit, {level->cpu.str(), level->features.str(), level->templates()},
                        options);
}
