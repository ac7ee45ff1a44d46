// SPDX-License-Identifier: Apache-2.0
// Bytes with a scale for each row, or for groups of it.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/importers/formats/TorchAoTensor.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;
using llm::EncodedWeight;

namespace {

/// The names of its parts, and how many columns share a scale; 0: a row.
struct Parts {
  StringRef values = ".weight", scales = ".weight_scale", zeros = ".weight_zero_point";
  int64_t group = 0, groups = 1;
};

} // namespace

static Expected<Parts> partsOf(const StoredMatrix &matrix) {
  if (!matrix.find(kTorchAoData))
    return Parts();
  auto tensor = torchAoTensor(matrix, {"Int8Tensor", "IntxUnpackedToInt8Tensor"});
  if (!tensor)
    return tensor.error();
  bool byRow = tensor->columns == matrix.shape[1];
  if (tensor->rows != 1 && !(byRow && tensor->rows == matrix.shape[0]))
    return matrix.unsupported("a block_size of several rows",
                              "quantize by rows, or groups of them");
  return Parts{kTorchAoData, "._weight_scale", "._weight_zero_point", byRow ? 0 : tensor->columns,
               matrix.shape[1] / tensor->columns};
}

/// The numbers [N, groups] of rows, of which the file may have one for all, or [N] of them. Without
/// an element: scales.
static Expected<Value> byRow(StoredMatrix &matrix, StringRef name, int64_t groups, Type element) {
  int64_t rows = matrix.shape[0];
  auto found = matrix.part(name);
  if (!found)
    return found.error();
  SmallVector<int64_t> stored((*found)->shape.begin(), (*found)->shape.end());
  bool whole = llvm::all_of(stored, [](int64_t extent) { return extent == 1; });
  SmallVector<int64_t> shape{whole ? 1 : rows, groups};
  bool isVector = groups == 1 && stored.size() == 1 && stored[0] == rows;
  auto value = element ? matrix.read(name, element, shape,
                                     whole || isVector ? ArrayRef<int64_t>(stored)
                                                       : ArrayRef<int64_t>(shape))
                       : matrix.readScales(name, shape, false);
  return value && whole ? Expected<Value>(matrix.repeatRows(*value, rows, rows)) : value;
}

/// Null where there are none, or all are zero, as files of symmetric weights have them.
static Expected<Value> zerosOfRows(StoredMatrix &matrix, StringRef name, int64_t groups) {
  auto most = static_cast<uint64_t>(matrix.shape[0] * groups);
  const Tensor *stored = matrix.find(name);
  if (!stored)
    return Value();
  if (stored->dtype != DType::I8 || stored->bytes > most)
    return matrix.unsupported(message(stored->bytes, " bytes of ", dtypeName(stored->dtype),
                                      " zero points of ", most, " groups"),
                              "supported: one I8 for a group, or for all");
  std::vector<std::byte> bytes(stored->bytes);
  if (auto done = matrix.checkpoint.read(*stored, 0, bytes); !done)
    return done.error();
  if (llvm::all_of(bytes, [](std::byte zero) { return zero == std::byte(0); }))
    return Value();
  return byRow(matrix, name, groups, matrix.integer(8));
}

/// weight [N, K] of I8 with weight_scale, and perhaps weight_zero_point, [N, 1], [N] or [1]. Those
/// of TorchAO may be for groups.
Expected<EncodedWeight> compiler::readIntegers(StoredMatrix &matrix) {
  auto parts = partsOf(matrix);
  if (!parts)
    return parts.error();
  auto values = matrix.read(parts->values, matrix.integer(8), matrix.shape);
  if (!values)
    return values.error();
  auto zeros = zerosOfRows(matrix, parts->zeros, parts->groups);
  auto scales = byRow(matrix, parts->scales, parts->groups, {});
  if (!zeros || !scales)
    return zeros ? scales.error() : zeros.error();
  auto held = matrix.encoding(8, parts->group, static_cast<bool>(*zeros));
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, *zeros, {}, *held};
}
