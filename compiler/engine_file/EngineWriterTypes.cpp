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

DType compiler::dtypeOf(Type element) {
  for (int value = 0; value <= int(DType::MAX); ++value)
    if (elementOf(element.getContext(), DType(value)) == element)
      return DType(value);
  llvm_unreachable("the verifier accepts only storable types");
}

Type compiler::elementOf(MLIRContext *context, DType dtype) {
  auto integer = [&](unsigned bits, IntegerType::SignednessSemantics sign) {
    return IntegerType::get(context, bits, sign);
  };
  constexpr auto signless = IntegerType::Signless, withoutSign = IntegerType::Unsigned;
  switch (dtype) {
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::E4M3:
    return Float8E4M3FNType::get(context);
  case DType::E5M2:
    return Float8E5M2Type::get(context);
  case DType::F64:
    return Float64Type::get(context);
  case DType::I2:
    return integer(2, signless);
  case DType::I3:
    return integer(3, signless);
  case DType::I4:
    return integer(4, signless);
  case DType::I5:
    return integer(5, signless);
  case DType::I6:
    return integer(6, signless);
  case DType::U4:
    return integer(4, withoutSign);
  case DType::I8:
    return integer(8, signless);
  case DType::U8:
    return integer(8, withoutSign);
  case DType::I16:
    return integer(16, signless);
  case DType::U16:
    return integer(16, withoutSign);
  case DType::I32:
    return integer(32, signless);
  case DType::U32:
    return integer(32, withoutSign);
  case DType::I64:
    return integer(64, signless);
  case DType::U64:
    return integer(64, withoutSign);
  }
  return {};
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
