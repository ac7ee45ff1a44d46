// SPDX-License-Identifier: Apache-2.0
// Scalar f32 functions, built in the region of a point-wise operation.
#pragma once

#include "compiler/checkpoint/config/LayerPlan.h"
#include "mlir/IR/Builders.h"

namespace ingot::compiler {

/// What xIELU of one layer computes with, by the names that Activation::Xielu has for it.
struct XieluNumbers {
  double positive = 0, negative = 0, beta = 0, eps = 0;
};

/// An activation with its numbers.
struct ActivationFunction {
  checkpoint::Activation kind = checkpoint::Activation::Silu;
  double limit = 0; ///< ClampedSwiglu
  XieluNumbers xielu = {};
};

/// Builds element by element, where `builder` stands.
class ElementFunctions {
public:
  ElementFunctions(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  mlir::Value constant(double value);
  mlir::Value sum(mlir::Value a, mlir::Value b);
  mlir::Value difference(mlir::Value a, mlir::Value b);
  mlir::Value product(mlir::Value a, mlir::Value b);
  mlir::Value quotient(mlir::Value a, mlir::Value b);
  mlir::Value tanh(mlir::Value x);
  /// The square root of x.
  mlir::Value root(mlir::Value x);
  /// x, or `least` where it is less.
  mlir::Value atLeast(mlir::Value x, double least);
  /// x, or `most` where it is more.
  mlir::Value atMost(mlir::Value x, double most);
  /// x / (1 + e^-y)
  mlir::Value sigmoidTimes(mlir::Value x, mlir::Value y);
  /// cap * tanh(x / cap)
  mlir::Value softcap(mlir::Value x, double cap);
  /// function(x), of one input.
  mlir::Value activated(const ActivationFunction &function, mlir::Value x);
  /// function(gate) * up, or what a function of pairs makes of them.
  mlir::Value activatedTimes(const ActivationFunction &function, mlir::Value gate, mlir::Value up);

private:
  mlir::Value geluTanh(mlir::Value x);
  mlir::Value gelu(mlir::Value x);
  mlir::Value xielu(const XieluNumbers &numbers, mlir::Value x);
  mlir::Value clampedSwiglu(mlir::Value gate, mlir::Value up, double limit);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

} // namespace ingot::compiler
