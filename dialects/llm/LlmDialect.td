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
  // Of the module, as the recipe has it: the types of stored activations and of KV caches, what
  // products read, whether attention has FP8 products. Of a weight: its format, a type or an
  // encoding. Of a product and an append to a cache: the checkpoint's scales. Of a program's
  // arguments and results: names (runtime/schema/Names.h).
  let discardableAttrs = (ins "::mlir::TypeAttr":$store, "::mlir::TypeAttr":$kv,
                              "::ingot::llm::ComputeAttr":$compute,
                              "::mlir::UnitAttr":$fp8_attention, "::mlir::Attribute":$format,
                              "::mlir::FloatAttr":$static_scale,
                              "::mlir::DenseF32ArrayAttr":$static_scales,
                              "::mlir::StringAttr":$input, "::mlir::StringAttr":$output);
  let hasOperationAttrVerify = 1;
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

/// Its first result is computed in f32 and stored: where a recipe rounds, in a narrower type.
def Llm_StoresResult : NativeOpTrait<"StoresResult"> { let cppNamespace = "::ingot::llm"; }

/// What it computes for a row, or for a token's run of rows, depends on that row, on its sequence's
/// cache and on weights alone: on no other row of the batch.
def Llm_RowIndependent : NativeOpTrait<"RowIndependent"> { let cppNamespace = "::ingot::llm"; }

class Llm_Op<string mnemonic, list<Trait> traits = []> : Op<Llm_Dialect, mnemonic, traits>;

#endif
