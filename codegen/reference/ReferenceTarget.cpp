// SPDX-License-Identifier: Apache-2.0
// The target's name and how its kernels are compiled.
#include "codegen/reference/ReferenceTarget.h"

#include "codegen/native/CpuTarget.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {
/// Generated from kernels/ when the project is built.
const TemplateSet &referenceTemplates();
} // namespace ingot::codegen

namespace {

constexpr llvm::StringLiteral kName = "reference";
constexpr CpuLevel kLevels[] = {{kName, "x86-64", "", {}, /*preference=*/0, referenceTemplates}};

class ReferenceTarget final : public CpuTarget {
public:
  ReferenceTarget() : CpuTarget("x86-64", kLevels) {}

  llvm::StringRef backend() const override { return kName; }
  std::string namesAccepted() const override { return kName.str(); }
  bool claims(llvm::StringRef name) const override { return name.starts_with(kName); }
  FastProducts fastProducts() const override { return FastProducts::Any; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr) const override {
    return createReferenceProvider();
  }

private:
  std::optional<std::string> canonicalName(llvm::StringRef name,
                                           std::string &error) const override {
    if (name == kName)
      return name.str();
    error = ("INGOT-E4000: target '" + name + "': reference takes no options").str();
    return std::nullopt;
  }
};

} // namespace

const Target &codegen::referenceTarget() {
  static const ReferenceTarget target;
  return target;
}
