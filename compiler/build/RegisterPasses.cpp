// SPDX-License-Identifier: Apache-2.0
// The only list of dialects and passes for ingot-opt.
#include "compiler/build/RegisterPasses.h"

#include "codegen/Target.h"
#include "compiler/engine_file/EngineReaderRoundTrip.h"
#include "dialects/engine/EngineDialect.h"
#include "dialects/llm/LlmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/fuse/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/quantize/Passes.h"
#include "passes/weights/Passes.h"

using namespace ingot;

void compiler::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<engine::EngineDialect, llm::LlmDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect>();
}

void compiler::injectProviders(engine::EngineDialect &dialect) {
  dialect.setProviderFactory(
      [](engine::TargetAttr target) -> std::unique_ptr<engine::KernelProvider> {
        for (const codegen::Target *candidate : codegen::targets())
          if (candidate->backend() == target.getBackend())
            return candidate->createProvider(target);
        return nullptr;
      });
}

void compiler::registerEverything(mlir::DialectRegistry &registry) {
  registerDialects(registry);
  registry.addExtension(
      +[](mlir::MLIRContext *, engine::EngineDialect *dialect) { injectProviders(*dialect); });
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass(createEngineRoundTripPass);
  registerFusePasses();
  registerPlanPasses();
  registerQuantizePasses();
  registerWeightsPasses();
}
