// SPDX-License-Identifier: Apache-2.0
// Bytes with a scale for each row, of compressed-tensors.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;
using llm::EncodedWeight;

/// The numbers [N, 1] of rows, of which the file may have one for all. Without an element: scales.
static Expected<Value> byRow(StoredMatrix &matrix, StringRef name, Type element) {
  int64_t rows = matrix.shape[0];
  auto found = matrix.part(name);
  if (!found)
    return found.error();
  SmallVector<int64_t> stored((*found)->shape.begin(), (*found)->shape.end());
  bool whole = llvm::all_of(stored, [](int64_t extent) { return extent == 1; });
  SmallVector<int64_t> shape{whole ? 1 : rows, 1};
  auto value = element ? matrix.read(name, element, shape,
                                     whole ? ArrayRef<int64_t>(stored) : ArrayRef<int64_t>(shape))
                       : matrix.readScales(name, shape, false);
  return value && whole ? Expected<Value>(matrix.repeatRows(*value, rows, rows)) : value;
}

/// Null where there are none, or all are zero, as files of symmetric weights have them.
static Expected<Value> zerosOfRows(StoredMatrix &matrix, StringRef name) {
  int64_t rows = matrix.shape[0];
  const Tensor *stored = matrix.find(name);
  if (!stored)
    return Value();
  if (stored->dtype != DType::I8 || stored->bytes > static_cast<uint64_t>(rows))
    return matrix.unsupported(message(stored->bytes, " bytes of ", dtypeName(stored->dtype),
                                      " zero points of ", rows, " rows"),
                              "supported: one I8 for a row, or for all");
  std::vector<std::byte> bytes(stored->bytes);
  if (auto done = matrix.checkpoint.read(*stored, 0, bytes); !done)
    return done.error();
  if (llvm::all_of(bytes, [](std::byte zero) { return zero == std::byte(0); }))
    return Value();
  return byRow(matrix, name, matrix.integer(8));
}

/// weight [N, K] of I8 with weight_scale, and perhaps weight_zero_point, [N, 1] or [1].
Expected<EncodedWeight> compiler::readIntegers(StoredMatrix &matrix) {
  auto values = matrix.read(".weight", matrix.integer(8), matrix.shape);
  if (!values)
    return values.error();
  auto zeros = zerosOfRows(matrix, ".weight_zero_point");
  auto scales = byRow(matrix, ".weight_scale", {});
  if (!zeros || !scales)
    return zeros ? scales.error() : zeros.error();
  auto held = matrix.encoding(8, 0, static_cast<bool>(*zeros));
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, *zeros, {}, *held};
}
