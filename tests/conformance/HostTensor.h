// SPDX-License-Identifier: Apache-2.0
// Tensors of the conformance tests: element codes and exact conversions, by APFloat, independent of
// the kernels' own.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include <random>
#include <vector>

namespace ingot::conformance {

/// A matrix of `rows` x `columns` elements (columns = 1 for vectors), row by row, as bit patterns.
struct HostTensor {
  mlir::Type element;
  int64_t rows = 0, columns = 0;
  std::vector<uint32_t> codes;

  HostTensor() = default;
  HostTensor(mlir::Type element, int64_t rows, int64_t columns)
      : element(element), rows(rows), columns(columns), codes(rows * columns) {}

  /// The value of an element; i4 elements are unsigned.
  double at(int64_t index) const;
  double at(int64_t row, int64_t column) const { return at(row * columns + column); }
  void set(int64_t index, double value);
  int64_t size() const { return static_cast<int64_t>(codes.size()); }

  /// Row-major elements of whole bytes.
  std::vector<uint8_t> bytes() const;
  void unpack(llvm::ArrayRef<uint8_t> bytes);
};

/// The value of a bit pattern of `element`, and the bit pattern nearest to a value (ties to even).
double decode(mlir::Type element, uint32_t code);
uint32_t encode(mlir::Type element, double value);

/// The spacing of results near `value` when rounded to `element`.
double spacing(mlir::Type element, double value);

/// Random elements: floats of about normal distribution times `scale`, integers over their range.
void fillRandom(HostTensor &tensor, std::mt19937_64 &random, double scale);

} // namespace ingot::conformance
