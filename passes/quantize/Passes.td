// SPDX-License-Identifier: Apache-2.0
// Passes that put a recipe's rounding points into the program, alphabetical.
include "mlir/Pass/PassBase.td"

class QuantizePass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::ingot::llm::LlmDialect", "::ingot::engine::EngineDialect"];
}

def ApplyRecipePass : QuantizePass<"ingot-apply-recipe"> {
  let summary = "Weight formats, rounding of activations and the KV type, as the recipe states";
  let description = [{
    Reads `llm.format` (a float type or #llm.encoding) on operations whose result is a weight as the
    checkpoint has it (llm.weight, llm.dequantize), and on the module `llm.store` (type that
    activations are rounded to) and `llm.kv` (element type of KV caches). `llm.static_scales` (two
    f32) on an llm.kv_append become its static scales.
  }];
}

def QuantizeActivationsPass : QuantizePass<"ingot-quantize-activations"> {
  let summary = "8-bit inputs for the products whose weight format goes with them";
  let description = [{
    Reads `llm.compute` on the module: "int8-dynamic" or "fp8-dynamic", or with "-static" where
    products have the scale of their input as `llm.static_scale` (f32); anything else leaves the
    program as it is. `llm.compute_group` (i64) beside "int8-dynamic": so many columns have a scale;
    without it, or where it is no less than the columns of an input, its row has one. Runs after
    ingot-fuse-dequantize.
  }];
}
