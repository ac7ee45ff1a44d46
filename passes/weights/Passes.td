// SPDX-License-Identifier: Apache-2.0
// Passes over weight expressions, alphabetical.
include "mlir/Pass/PassBase.td"

class WeightsPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::ingot::llm::LlmDialect", "::ingot::engine::EngineDialect",
                           "::mlir::func::FuncDialect"];
}

def ChooseLayoutsPass : WeightsPass<"ingot-choose-layouts"> {
  let summary = "Packs every weight in the memory order that its target wants";
}

def FoldNormPass : WeightsPass<"ingot-fold-norm"> {
  let summary = "A norm's weight becomes part of the f32 weights of the products that follow it";
  let description = [{
    The same for every target, as it moves a rounding. Weights of other formats keep their norm:
    folding would round them a second time or change what quantization sees.
  }];
}

def HoistWeightsPass : WeightsPass<"ingot-hoist-weights"> {
  let summary = "Moves everything that depends on weights alone into @weights";
}
