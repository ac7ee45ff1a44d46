// SPDX-License-Identifier: Apache-2.0
// What operations say of weights and sums: which read encoded weights, which are parts of
// expressions, which add.
#ifndef INGOT_DIALECTS_LLM_ENCODEDWEIGHT_TD
#define INGOT_DIALECTS_LLM_ENCODEDWEIGHT_TD

include "mlir/IR/OpBase.td"

/// Its results depend on weights alone.
def Llm_WeightExpression : NativeOpTrait<"WeightExpression"> {
  let cppNamespace = "::ingot::llm";
}

/// Where its result is a matrix and ends the expression of one, recipes give that a format.
def Llm_QuantizableRoot : NativeOpTrait<"QuantizableRoot"> { let cppNamespace = "::ingot::llm"; }

/// Its operands are matrices of their own, with formats of their own, where it ends an expression.
def Llm_StacksMatrices : NativeOpTrait<"StacksMatrices"> { let cppNamespace = "::ingot::llm"; }

/// Its result has the elements of its operand, each once, in another order or shape.
def Llm_ReordersElements : NativeOpTrait<"ReordersElements"> { let cppNamespace = "::ingot::llm"; }

def Llm_SumsOpInterface : OpInterface<"SumsOpInterface"> {
  let cppNamespace = "::ingot::llm";
  let description = [{
    Adds more than two numbers in an order that `sums` says: chosen by --ingot-choose-sums from what
    the target offers, executed by the reference, and the same in every kernel of the operation.
  }];
  let methods = [
    InterfaceMethod<"Null before an order is chosen", "::ingot::engine::SumsAttr", "getSumsAttr">,
    InterfaceMethod<"", "void", "setSumsAttr", (ins "::ingot::engine::SumsAttr":$sums)>
  ];
}

def Llm_EncodedWeightOpInterface : OpInterface<"EncodedWeightOpInterface"> {
  let cppNamespace = "::ingot::llm";
  let description = [{
    Reads a weight that may be encoded: an operand of stored values, and a group of operands that
    has what the encoding puts beside them, in the order scales, zeros, super-block scales.
  }];
  let methods = [
    InterfaceMethod<"The stored values", "::mlir::OpOperand &", "getStoredMutable">,
    InterfaceMethod<"What is beside them", "::mlir::OperandRange", "getParts">,
    InterfaceMethod<"", "::mlir::MutableOperandRange", "getPartsMutable">,
    InterfaceMethod<"Null for a weight that is not encoded", "::ingot::llm::EncodingAttr",
                    "getEncodingAttr">,
    InterfaceMethod<"", "void", "setEncodingAttr", (ins "::ingot::llm::EncodingAttr":$encoding)>
  ];
  let extraSharedClassDeclaration = [{
    ::ingot::llm::EncodedWeight getEncodedWeight() {
      return ::ingot::llm::EncodedWeight::of($_op.getStoredMutable().get(), $_op.getParts(),
                                             $_op.getEncodingAttr());
    }
    void setEncodedWeight(const ::ingot::llm::EncodedWeight &weight) {
      $_op.getStoredMutable().set(weight.values);
      $_op.getPartsMutable().assign(weight.parts());
      $_op.setEncodingAttr(weight.encoding);
    }
  }];
  let verify = "return ::ingot::llm::verifyEncodedWeight($_op);";
}

#endif
