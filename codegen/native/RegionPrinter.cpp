// SPDX-License-Identifier: Apache-2.0
// One LLVM instruction (or call of the template's mathematics) per operation of the region.
#include "codegen/native/RegionPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using llvm::Error;

namespace {

/// Prints the operations of one block, in order.
class RegionBuilder {
public:
  explicit RegionBuilder(llvm::Function &function)
      : function(function), vectorType(function.getReturnType()),
        builder(llvm::BasicBlock::Create(function.getContext(), "entry", &function)) {}

  Error run(Block &block, llvm::ArrayRef<unsigned> parameters) {
    for (auto [argument, parameter] : llvm::zip_equal(block.getArguments(), parameters))
      values[argument] = function.getArg(parameter);
    for (Operation &op : block.without_terminator()) {
      llvm::Value *value = print(op);
      if (!missing.empty())
        return llvm::createStringError("the kernel template does not define " + missing);
      if (!value)
        return llvm::createStringError(op.getName().getStringRef() +
                                       " is not allowed in epilogues and point-wise regions");
      values[op.getResult(0)] = value;
    }
    builder.CreateRet(values[block.getTerminator()->getOperand(0)]);
    return Error::success();
  }

private:
  llvm::Value *operand(Operation &op, unsigned index) { return values[op.getOperand(index)]; }

  /// Calls `Vec name(Vec)` of the template.
  llvm::Value *call(llvm::StringRef name, llvm::Value *argument) {
    llvm::Function *callee = function.getParent()->getFunction(name);
    if (callee && callee->getFunctionType()->getReturnType() == vectorType &&
        callee->arg_size() == 1 && callee->getArg(0)->getType() == vectorType)
      return builder.CreateCall(callee, {argument});
    missing = name;
    return argument;
  }

  /// `value` rounded to the float type `narrow`, as a float.
  llvm::Value *round(llvm::Value *value, Type narrow) {
    if (narrow.isBF16())
      return call("ingot_round_bf16", value);
    return narrow.isF16() ? call("ingot_round_f16", value) : nullptr;
  }

  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> arguments) {
    return builder.CreateIntrinsic(id, {vectorType}, arguments);
  }

  llvm::Value *splat(double value) { return llvm::ConstantFP::get(vectorType, value); }

  llvm::Value *printConstant(arith::ConstantOp op) {
    if (auto value = dyn_cast<FloatAttr>(op.getValue()))
      return splat(value.getValueAsDouble());
    if (!op.getType().isInteger(1))
      return nullptr;
    llvm::Type *mask = llvm::CmpInst::makeCmpResultType(vectorType);
    return llvm::ConstantInt::get(mask, cast<IntegerAttr>(op.getValue()).getValue().getBoolValue());
  }

  llvm::Value *printCompare(arith::CmpFOp op) {
    // In MLIR's order, which has `uno` behind the other unordered ones.
    using P = llvm::CmpInst;
    static constexpr P::Predicate kPredicates[] = {
        P::FCMP_FALSE, P::FCMP_OEQ, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OLT, P::FCMP_OLE,
        P::FCMP_ONE,   P::FCMP_ORD, P::FCMP_UEQ, P::FCMP_UGT, P::FCMP_UGE, P::FCMP_ULT,
        P::FCMP_ULE,   P::FCMP_UNE, P::FCMP_UNO, P::FCMP_TRUE};
    static_assert(uint64_t(arith::CmpFPredicate::UEQ) == 8 &&
                  uint64_t(arith::CmpFPredicate::UNO) == 14 &&
                  uint64_t(arith::CmpFPredicate::AlwaysTrue) == 15);
    P::Predicate predicate = kPredicates[uint64_t(op.getPredicate())];
    return builder.CreateFCmp(predicate, operand(*op, 0), operand(*op, 1));
  }

  /// The value of `op`; null for an operation outside the list.
  llvm::Value *print(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return printConstant(constant);
    if (auto truncate = dyn_cast<arith::TruncFOp>(op))
      return round(operand(op, 0), truncate.getType());
    if (isa<arith::ExtFOp>(op) && op.getResult(0).getType().isF32())
      return operand(op, 0);
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return printCompare(compare);
    if (isa<arith::SelectOp>(op) && op.getOperand(0).getType().isInteger(1))
      return builder.CreateSelect(operand(op, 0), operand(op, 1), operand(op, 2));
    // Arithmetic in a narrower type would hide a rounding.
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isF32())
      return nullptr;
    return printArithmetic(op);
  }

  llvm::Value *printArithmetic(Operation &op) {
    return llvm::TypeSwitch<Operation *, llvm::Value *>(&op)
        .Case<arith::AddFOp>(
            [&](auto) { return builder.CreateFAdd(operand(op, 0), operand(op, 1)); })
        .Case<arith::SubFOp>(
            [&](auto) { return builder.CreateFSub(operand(op, 0), operand(op, 1)); })
        .Case<arith::MulFOp>(
            [&](auto) { return builder.CreateFMul(operand(op, 0), operand(op, 1)); })
        .Case<arith::DivFOp>(
            [&](auto) { return builder.CreateFDiv(operand(op, 0), operand(op, 1)); })
        .Case<arith::NegFOp>([&](auto) { return builder.CreateFNeg(operand(op, 0)); })
        .Case<arith::MaximumFOp>([&](auto) {
          return intrinsic(llvm::Intrinsic::maximum, {operand(op, 0), operand(op, 1)});
        })
        .Case<arith::MinimumFOp>([&](auto) {
          return intrinsic(llvm::Intrinsic::minimum, {operand(op, 0), operand(op, 1)});
        })
        .Case<arith::MaxNumFOp>([&](auto) {
          return intrinsic(llvm::Intrinsic::maxnum, {operand(op, 0), operand(op, 1)});
        })
        .Case<arith::MinNumFOp>([&](auto) {
          return intrinsic(llvm::Intrinsic::minnum, {operand(op, 0), operand(op, 1)});
        })
        .Case<math::AbsFOp>([&](auto) { return intrinsic(llvm::Intrinsic::fabs, operand(op, 0)); })
        .Case<math::SqrtOp>([&](auto) { return intrinsic(llvm::Intrinsic::sqrt, operand(op, 0)); })
        .Case<math::RsqrtOp>([&](auto) {
          return builder.CreateFDiv(splat(1), intrinsic(llvm::Intrinsic::sqrt, operand(op, 0)));
        })
        .Case<math::ExpOp>([&](auto) { return call("ingot_exp", operand(op, 0)); })
        .Case<math::TanhOp>([&](auto) { return call("ingot_tanh", operand(op, 0)); })
        .Default([](Operation *) { return nullptr; });
  }

  llvm::Function &function;
  llvm::Type *vectorType;
  llvm::IRBuilder<> builder;
  llvm::DenseMap<Value, llvm::Value *> values;
  std::string missing; ///< a function that the template should have defined
};

} // namespace

Error ingot::codegen::printRegion(Region &region, llvm::Function &function,
                                  llvm::ArrayRef<unsigned> parameters) {
  if (!region.hasOneBlock())
    return llvm::createStringError("an epilogue has exactly one block");
  for (unsigned parameter : parameters)
    if (parameter >= function.arg_size())
      return llvm::createStringError("the region has more arguments than the template passes");
  return RegionBuilder(function).run(region.front(), parameters);
}
