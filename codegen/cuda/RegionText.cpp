// SPDX-License-Identifier: Apache-2.0
// One statement per operation; nothing is contracted, so each rounds as the dialect says.
#include "codegen/cuda/RegionText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {

constexpr unsigned kParameters = 6;

/// Prints the operations of one block, in order.
class RegionWriter {
public:
  llvm::Expected<std::string> run(Block &block, llvm::ArrayRef<unsigned> parameters) {
    for (auto [argument, parameter] : llvm::zip_equal(block.getArguments(), parameters))
      names[argument] = "x" + std::to_string(parameter);
    for (Operation &op : block.without_terminator()) {
      std::string value = print(op);
      if (value.empty())
        return llvm::createStringError(op.getName().getStringRef() +
                                       " is not allowed in epilogues and point-wise regions");
      std::string name = "v" + std::to_string(names.size());
      bool truth = op.getResult(0).getType().isInteger(1);
      text += std::string("  const ") + (truth ? "bool " : "float ") + name + " = " + value + ";\n";
      names[op.getResult(0)] = name;
    }
    return text + "  return " + names[block.getTerminator()->getOperand(0)] + ";\n";
  }

private:
  std::string operand(Operation &op, unsigned index) { return names[op.getOperand(index)]; }

  std::string call(llvm::StringRef function, Operation &op) {
    std::string result = function.str() + "(";
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      result += (i ? ", " : "") + operand(op, i);
    return result + ")";
  }

  std::string infix(llvm::StringRef symbol, Operation &op) {
    return operand(op, 0) + " " + symbol.str() + " " + operand(op, 1);
  }

  /// The exact value of a float, by its bits.
  static std::string floatText(const llvm::APFloat &value) {
    llvm::APFloat single = value;
    bool inexact = false;
    single.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return "__uint_as_float(0x" +
           llvm::utohexstr(single.bitcastToAPInt().getZExtValue(), /*LowerCase=*/true) + "u)";
  }

  static std::string printConstant(arith::ConstantOp op) {
    if (auto value = dyn_cast<FloatAttr>(op.getValue()))
      return floatText(value.getValue());
    if (op.getType().isInteger(1))
      return cast<IntegerAttr>(op.getValue()).getValue().getBoolValue() ? "true" : "false";
    return "";
  }

  std::string printCompare(arith::CmpFOp op) {
    using enum arith::CmpFPredicate;
    std::string a = operand(*op, 0), b = operand(*op, 1);
    std::string unordered = a + " != " + a + " || " + b + " != " + b;
    switch (op.getPredicate()) {
    case AlwaysFalse:
      return "false";
    case OEQ:
      return a + " == " + b;
    case OGT:
      return a + " > " + b;
    case OGE:
      return a + " >= " + b;
    case OLT:
      return a + " < " + b;
    case OLE:
      return a + " <= " + b;
    case ONE:
      return a + " < " + b + " || " + a + " > " + b;
    case ORD:
      return "!(" + unordered + ")";
    case UEQ:
      return "!(" + a + " < " + b + " || " + a + " > " + b + ")";
    case UGT:
      return "!(" + a + " <= " + b + ")";
    case UGE:
      return "!(" + a + " < " + b + ")";
    case ULT:
      return "!(" + a + " >= " + b + ")";
    case ULE:
      return "!(" + a + " > " + b + ")";
    case UNE:
      return a + " != " + b;
    case UNO:
      return unordered;
    case AlwaysTrue:
      return "true";
    }
    return "";
  }

  /// The expression of `op`; empty for an operation outside the list.
  std::string print(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return printConstant(constant);
    if (auto truncate = dyn_cast<arith::TruncFOp>(op)) {
      if (truncate.getType().isBF16())
        return call("roundElement<kBf16>", op);
      return truncate.getType().isF16() ? call("roundElement<kF16>", op) : "";
    }
    if (isa<arith::ExtFOp>(op) && op.getResult(0).getType().isF32())
      return operand(op, 0);
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return printCompare(compare);
    if (isa<arith::SelectOp>(op) && op.getOperand(0).getType().isInteger(1))
      return operand(op, 0) + " ? " + operand(op, 1) + " : " + operand(op, 2);
    // Arithmetic in a narrower type would hide a rounding.
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isF32())
      return "";
    return printArithmetic(op);
  }

  std::string printArithmetic(Operation &op) {
    return llvm::TypeSwitch<Operation *, std::string>(&op)
        .Case<arith::AddFOp>([&](auto) { return infix("+", op); })
        .Case<arith::SubFOp>([&](auto) { return infix("-", op); })
        .Case<arith::MulFOp>([&](auto) { return infix("*", op); })
        .Case<arith::DivFOp>([&](auto) { return infix("/", op); })
        .Case<arith::NegFOp>([&](auto) { return "-" + operand(op, 0); })
        .Case<arith::MaximumFOp>([&](auto) { return call("region::maximum", op); })
        .Case<arith::MinimumFOp>([&](auto) { return call("region::minimum", op); })
        .Case<arith::MaxNumFOp>([&](auto) { return call("fmaxf", op); })
        .Case<arith::MinNumFOp>([&](auto) { return call("fminf", op); })
        .Case<math::AbsFOp>([&](auto) { return call("fabsf", op); })
        .Case<math::SqrtOp>([&](auto) { return call("region::squareRoot", op); })
        .Case<math::RsqrtOp>([&](auto) { return "1.0f / " + call("region::squareRoot", op); })
        .Case<math::ExpOp>([&](auto) { return call("region::exponential", op); })
        .Case<math::TanhOp>([&](auto) { return call("region::tangent", op); })
        .Default([](Operation *) { return std::string(); });
  }

  llvm::DenseMap<Value, std::string> names;
  std::string text;
};

} // namespace

llvm::Expected<std::string> ingot::codegen::regionText(Region &region,
                                                       llvm::ArrayRef<unsigned> parameters) {
  std::string body = "  return x0;\n";
  if (!region.empty()) {
    if (!region.hasOneBlock())
      return llvm::createStringError("an epilogue has exactly one block");
    for (unsigned parameter : parameters)
      if (parameter >= kParameters)
        return llvm::createStringError("the region has more arguments than the template passes");
    llvm::Expected<std::string> printed = RegionWriter().run(region.front(), parameters);
    if (!printed)
      return printed;
    body = *printed;
  }
  std::string text = "INGOT_DEVICE float epilogue(";
  for (unsigned i = 0; i < kParameters; ++i)
    text += (i ? ", float x" : "float x") + std::to_string(i);
  return text + ") {\n" + body + "}\n";
}
