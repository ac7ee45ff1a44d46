// SPDX-License-Identifier: Apache-2.0
// Element types, layouts and epilogues of the engine dialect as the schema spells them.
#include "compiler/engine_file/EngineWriterTypes.h"

#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using schema::DType;

static_assert(int(DType::MAX) + 1 == kElementTypes && int(DType::E4M3) == kE4m3 &&
              int(DType::I4) == kI4 && int(DType::F64) == kF64 && int(DType::I6) == kI6);

DType compiler::dtypeOf(Type element) { return DType(engine::elementTypeOf(element)); }

Type compiler::elementOf(MLIRContext *context, DType dtype) {
  return dtype <= DType::MAX ? engine::typeFor(context, ElementType(dtype)) : Type();
}

std::string compiler::layoutText(Attribute layout) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto digits = dyn_cast_or_null<engine::LayoutAttr>(layout))
    llvm::interleaveComma(digits.digitList(), stream, [&](engine::LayoutAttr::Digit digit) {
      stream << "[" << digit.axis << ", " << digit.stride << ", " << digit.radix << "]";
    });
  return text;
}

std::string compiler::epilogueText(engine::KernelOp kernel) {
  if (kernel.getEpilogue().empty())
    return {};
  OperationState state(kernel.getLoc(), engine::KernelOp::getOperationName());
  state.addAttribute("sym_name", StringAttr::get(kernel.getContext(), "k"));
  state.addAttribute("source", StringAttr::get(kernel.getContext(), "k"));
  state.addRegion();
  OwningOpRef<engine::KernelOp> bare(cast<engine::KernelOp>(Operation::create(state)));
  IRMapping mapping;
  kernel.getEpilogue().cloneInto(&bare->getEpilogue(), mapping);
  std::string text;
  llvm::raw_string_ostream stream(text);
  bare->print(stream);
  assert(StringRef(text).starts_with(epiloguePrefix));
  return text.substr(epiloguePrefix.size());
}
