// SPDX-License-Identifier: Apache-2.0
// The activations of all families.
#include "compiler/importers/ElementFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Activation;

Value ElementFunctions::constant(double value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getF32FloatAttr(static_cast<float>(value)));
}

Value ElementFunctions::sum(Value a, Value b) {
  return arith::AddFOp::create(builder, location, a, b);
}

Value ElementFunctions::difference(Value a, Value b) {
  return arith::SubFOp::create(builder, location, a, b);
}

Value ElementFunctions::product(Value a, Value b) {
  return arith::MulFOp::create(builder, location, a, b);
}

Value ElementFunctions::quotient(Value a, Value b) {
  return arith::DivFOp::create(builder, location, a, b);
}

Value ElementFunctions::tanh(Value x) { return math::TanhOp::create(builder, location, x); }

Value ElementFunctions::root(Value x) { return math::SqrtOp::create(builder, location, x); }

Value ElementFunctions::atLeast(Value x, double least) {
  return arith::MaximumFOp::create(builder, location, x, constant(least));
}

Value ElementFunctions::atMost(Value x, double most) {
  return arith::MinimumFOp::create(builder, location, x, constant(most));
}

Value ElementFunctions::sigmoidTimes(Value x, Value y) {
  Value one = constant(1);
  Value negative = arith::NegFOp::create(builder, location, y);
  Value exponential = math::ExpOp::create(builder, location, negative);
  return quotient(x, sum(one, exponential));
}

Value ElementFunctions::softcap(Value x, double cap) {
  return product(tanh(quotient(x, constant(cap))), constant(cap));
}

Value ElementFunctions::geluTanh(Value x) {
  Value cube = product(product(x, x), x);
  Value inner = sum(x, product(constant(0.044715), cube));
  Value bent = tanh(product(constant(std::sqrt(2 / std::numbers::pi)), inner));
  return product(product(constant(0.5), x), sum(constant(1), bent));
}

/// max(x, 0) - |x| / 2 * erfc(|x| / sqrt(2)), with erfc to 1.5e-7 by formula 7.1.26 of Abramowitz
/// and Stegun, Handbook of Mathematical Functions.
Value ElementFunctions::gelu(Value x) {
  static constexpr double factors[] = {1.061405429, -1.453152027, 1.421413741, -0.284496736,
                                       0.254829592};
  constexpr double slope = 0.3275911;
  Value size = math::AbsFOp::create(builder, location, x);
  Value t =
      quotient(constant(1), sum(constant(1), product(constant(slope / std::numbers::sqrt2), size)));
  Value series = constant(factors[0]);
  for (double factor : llvm::ArrayRef(factors).drop_front())
    series = sum(product(series, t), constant(factor));
  Value bell = math::ExpOp::create(builder, location, product(constant(-0.5), product(x, x)));
  Value tail = product(product(series, t), bell);
  Value positive = atLeast(x, 0);
  return sum(positive, product(product(constant(-0.5), size), tail));
}

Value ElementFunctions::xielu(const XieluNumbers &numbers, Value x) {
  Value square = product(product(constant(numbers.positive), x), x);
  Value bounded = atMost(x, numbers.eps);
  // e^y - 1 = 2t / (1 - t) for t = tanh(y / 2), which keeps its digits where y is small.
  Value t = tanh(product(constant(0.5), bounded));
  Value less = quotient(product(constant(2), t), sum(constant(1), product(constant(-1), t)));
  Value bent = product(sum(less, product(constant(-1), x)), constant(numbers.negative));
  Value isPositive =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OGT, x, constant(0));
  Value part = arith::SelectOp::create(builder, location, isPositive, square, bent);
  return sum(part, product(constant(numbers.beta), x));
}

Value ElementFunctions::clampedSwiglu(Value gate, Value up, double limit) {
  constexpr double slope = 1.702;
  gate = atMost(gate, limit);
  up = atLeast(atMost(up, limit), -limit);
  Value activated = sigmoidTimes(gate, product(gate, constant(slope)));
  return product(sum(up, constant(1)), activated);
}

Value ElementFunctions::activated(const ActivationFunction &function, Value x) {
  switch (function.kind) {
  case Activation::Silu:
    return sigmoidTimes(x, x);
  case Activation::Gelu:
    return gelu(x);
  case Activation::GeluTanh:
    return geluTanh(x);
  case Activation::Relu2: {
    Value positive = atLeast(x, 0);
    return product(positive, positive);
  }
  case Activation::Xielu:
    return xielu(function.xielu, x);
  case Activation::ClampedSwiglu:
    break; // of pairs alone
  }
  llvm_unreachable("no activation of one input");
}

Value ElementFunctions::activatedTimes(const ActivationFunction &function, Value gate, Value up) {
  if (function.kind == Activation::ClampedSwiglu)
    return clampedSwiglu(gate, up, function.limit);
  return product(activated(function, gate), up);
}
