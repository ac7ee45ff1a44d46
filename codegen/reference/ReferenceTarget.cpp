// SPDX-License-Identifier: Apache-2.0
// The target's name and how its kernels are compiled.
#include "codegen/reference/ReferenceTarget.h"

#include "codegen/native/KernelLibrary.h"
#include "dialects/engine/EngineOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {
/// Generated from kernels/ when the project is built.
llvm::ArrayRef<KernelTemplate> referenceTemplates();
} // namespace ingot::codegen

namespace {

constexpr llvm::StringLiteral kName = "reference";

class ReferenceTarget final : public Target {
public:
  llvm::StringRef backend() const override { return kName; }
  std::string namesAccepted() const override { return kName.str(); }
  bool claims(llvm::StringRef name) const override { return name.starts_with(kName); }

  FailureOr<engine::TargetAttr> parse(MLIRContext *context, llvm::StringRef name,
                                      std::string &error) const override {
    if (name != kName) {
      error = ("INGOT-E4000: target '" + name + "': reference takes no options").str();
      return failure();
    }
    return engine::TargetAttr::get(context, kName, kName, "x86-64", {}, /*preference=*/0);
  }

  std::optional<std::string> hostTarget() const override {
#ifdef __x86_64__
    return kName.str();
#else
    return std::nullopt;
#endif
  }

  FastProducts fastProducts() const override { return FastProducts::Any; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr) const override {
    return createReferenceProvider();
  }

  FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const override {
    KernelMachine machine;
    machine.cpu = "x86-64";
    machine.templates = referenceTemplates();
    return compileKernels(unit, machine, options);
  }
};

} // namespace

const Target &codegen::referenceTarget() {
  static const ReferenceTarget target;
  return target;
}
