// SPDX-License-Identifier: Apache-2.0
// The llm dialect: what to compute, over a ragged batch of tokens.
#ifndef INGOT_DIALECTS_LLM_LLMDIALECT_TD
#define INGOT_DIALECTS_LLM_LLMDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Llm_Dialect : Dialect {
  let name = "llm";
  let cppNamespace = "::ingot::llm";
  let summary = "What to compute: one step of a language model over a ragged batch";
  let description = [{
    Tensors of activations are `tensor<?xDxf32, "T">`: the encoding is the text of an expression for
    the dynamic row count (T tokens, S sequences, L wanted logit rows). Every operation computes in
    f32; where numbers are rounded is visible as an operation or as the element type of a result.
    Weights are expressions over `llm.weight` sources, never data.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::ingot::engine::EngineDialect"];
  let extraClassDeclaration = [{
  private:
    // Each in the .cpp of its family, so that the dialect's own needs no operation.
    void addWeightOps();
    void addComputeOps();
    void addMatmulOps();
    void addAttentionOps();
    void addExpertOps();
    void addStateOps();
  public:
  }];
}

/// Moves elements and computes none: the first result has the element type of the first operand.
def Llm_MovesElements : NativeOpTrait<"MovesElements"> { let cppNamespace = "::ingot::llm"; }

class Llm_Op<string mnemonic, list<Trait> traits = []> : Op<Llm_Dialect, mnemonic, traits>;

#endif
