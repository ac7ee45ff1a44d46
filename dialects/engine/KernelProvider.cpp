// SPDX-License-Identifier: Apache-2.0
// The provider of a module's target.
#include "dialects/engine/KernelProvider.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace ingot::engine;

std::unique_ptr<KernelProvider> EngineDialect::providerFor(ModuleOp module) {
  auto target = attributeOf<TargetAttrHelper>(module);
  auto *dialect = module.getContext()->getLoadedDialect<EngineDialect>();
  if (!target || !dialect || !dialect->providerFactory) {
    module.emitError() << "module needs an attribute engine.target of a known target";
    return nullptr;
  }
  return dialect->providerFactory(target);
}
