// SPDX-License-Identifier: Apache-2.0
// Whole-tensor evaluation of @weights functions, slow and obvious, sharing no code with the
// streamer: numbers are doubles, rounding is LLVM's APFloat.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::compiler::test {

/// Elements row by row; integers and 4-bit values as numbers too.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;
  double padding = 0;

  double &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  double at(int64_t row, int64_t column) const { return values[row * columns + column]; }
};

/// The nearest value of a float type, ties to even; f8 saturates.
double roundTo(mlir::Type type, double value);

/// Bits of a value that the type holds exactly.
uint64_t bitsOf(mlir::Type type, double value);

/// The packed bytes of every llm.store_weight, by name. `tensors` are the checkpoint's.
std::map<std::string, std::vector<uint8_t>>
evaluatePlainly(mlir::func::FuncOp function, const std::map<std::string, Matrix> &tensors);

} // namespace ingot::compiler::test
