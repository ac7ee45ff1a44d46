// SPDX-License-Identifier: Apache-2.0
// A matrix in one of the encodings that checkpoints store, and how it gets there.
#pragma once

#include "compiler/quantize/InputStatistics.h"
#include "compiler/quantize/methods/FourBitFloats.h"
#include "compiler/recipe/Recipe.h"

#include <optional>
#include <variant>

namespace ingot::quantize {

/// e4m3 [rows, columns].
struct Float8Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<uint8_t> codes;
  std::vector<float> scales; ///< of each row, or one of all

  void dequantize(float *out) const; ///< [rows, columns]
  /// The matrix with these scales and e4m3's numbers as its book, without codes.
  QuantizedMatrix scaled() const;
  void take(const QuantizedMatrix &matrix); ///< its codes
};

/// What a matrix becomes: int3 to int8, fp8, NVFP4 and MXFP4, NF4 and FP4. Each has `rows`,
/// `columns`, and dequantize().
using EncodedMatrix = std::variant<QuantizedMatrix, Float8Matrix, FloatBlocks, BookBlocks>;

struct EncodedResult {
  EncodedMatrix matrix;
  double error = 0; ///< mean squared error of a row of outputs, where the method knows it
};

struct EncodingRequest {
  recipe::WeightFormat format; ///< of fewer than 16 bits
  recipe::Method method;
  ScaleType scales;  ///< of integers
  float largest = 0; ///< NVFP4: the largest magnitude of matrices with the same global scale
  unsigned threads = 1;
};

/// The integers of `format`. Of formats of 4 bits that are none: those that have as many bits and
/// as large groups, for searches of scales of inputs. Nothing for fp8, which such scales do not
/// help.
std::optional<Grid> gridOf(const recipe::WeightFormat &format, ScaleType scales);

/// Encodes `weight` [rows, columns] by the request's method; `statistics` are those of its inputs,
/// null where the method looks at none, or there are none: then calibrated ones do as round-mse.
/// The scales of fp8, and the codes of matrices of books whose rows are no whole number of blocks,
/// are those of rounding to nearest with any method. Errors: those of the methods.
Expected<EncodedResult> encodeMatrix(const float *weight, int64_t rows, int64_t columns,
                                     const EncodingRequest &request,
                                     const InputStatistics *statistics);

} // namespace ingot::quantize
