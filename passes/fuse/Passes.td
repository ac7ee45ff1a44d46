// SPDX-License-Identifier: Apache-2.0
// Fusions, alphabetical. Each asks the target first and notes what it did at every site.
include "mlir/Pass/PassBase.td"

class FusePass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::ingot::llm::LlmDialect", "::ingot::engine::EngineDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def Fp8ContextAttentionPass : FusePass<"ingot-fp8-context-attention"> {
  let summary = "Attention over an e4m3 cache multiplies e4m3 by e4m3, where the recipe wants it";
}

def FuseDequantizePass : FusePass<"ingot-fuse-dequantize"> {
  let summary = "Products and embeddings read encoded weights; nothing is widened in memory";
}

def FuseEpiloguePass : FusePass<"ingot-fuse-epilogue"> {
  let summary = "A point-wise operation on a product and weights (a bias) becomes its epilogue";
}

def FuseQuantizeActivationPass : FusePass<"ingot-fuse-quantize-activation"> {
  let summary = "A norm quantizes its result itself";
}

def FuseNormPass : FusePass<"ingot-fuse-norm"> {
  let summary = "Residual addition and the norm that follows it become one operation";
}

def FuseRopeAppendPass : FusePass<"ingot-fuse-rope-append"> {
  let summary = "Rotary embedding of q and k and the KV append become one operation on q|k|v";
}

def FuseRoundPass : FusePass<"ingot-fuse-round"> {
  let summary = "The producer of a value stores it in its rounded type";
}

def FuseSwigluPass : FusePass<"ingot-fuse-swiglu"> {
  let summary = "A point-wise function of gate and up becomes a pair epilogue of their product";
}

def MergeGateUpPass : FusePass<"ingot-merge-gate-up"> {
  let summary = "The gate and up projections become one product; values are never quantized again";
}

def MergeQkvPass : FusePass<"ingot-merge-qkv"> {
  let summary = "The q, k and v projections become one product; values are never quantized again";
}
