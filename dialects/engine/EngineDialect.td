// SPDX-License-Identifier: Apache-2.0
// The engine dialect: what to run. Its operations mirror runtime/schema/Engine.fbs one to one.
#ifndef INGOT_DIALECTS_ENGINE_ENGINEDIALECT_TD
#define INGOT_DIALECTS_ENGINE_ENGINEDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Engine_Dialect : Dialect {
  let name = "engine";
  let cppNamespace = "::ingot::engine";
  let summary = "What to run: programs of launches, copies, collectives and host calls";
  let description = [{
    The exit dialect. After the `plan` stages a module holds one `engine.target` per target with its
    kernels, buffers and programs; the writer then only prints. Nothing here names a model
    operation. Also home of the attributes that passes use to talk about hardware: the target, the
    weight layout, and integer expressions over the step's dims.
  }];
  let useDefaultAttributePrinterParser = 1;
  // Of the module: what the engine is built for, lines of the lockfile, which orders of sums may be
  // chosen (strict without), and whether kernels are for tuning to choose from.
  let discardableAttrs = (ins "::ingot::engine::TargetAttr":$target, "::mlir::ArrayAttr":$tuning,
                              "::ingot::engine::DeterminismAttr":$determinism,
                              "::mlir::UnitAttr":$tuning_candidates);
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    using ProviderFactory =
        std::function<std::unique_ptr<KernelProvider>(::ingot::engine::TargetAttr)>;
    /// Injects the targets: called once per context by whoever sets up the passes.
    void setProviderFactory(ProviderFactory factory) { providerFactory = std::move(factory); }
    /// The provider of the target named by the module attribute "engine.target"; null, with a
    /// diagnostic on the module, if there is none.
    static std::unique_ptr<KernelProvider> providerFor(::mlir::ModuleOp module);

  private:
    // In EngineOps.cpp: a change of an operation leaves the dialect's own file alone.
    void addOps();
    ProviderFactory providerFactory;
  public:
  }];
}

#endif
