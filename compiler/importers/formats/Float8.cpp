// SPDX-License-Identifier: Apache-2.0
// FP8 in blocks, rows or as a whole.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/importers/formats/TorchAoTensor.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using llm::EncodedWeight;

/// weight [N, K] of e4m3 with weight_scale_inv (of blocks, usually 128 x 128; it multiplies,
/// despite its name) or weight_scale: of blocks, [N, 1], [N] or a single one. TorchAO's
/// Float8Tensor has such parts, and its blocks are in its metadata.
Expected<EncodedWeight> compiler::readFloat8(StoredMatrix &matrix) {
  auto [block, width] = matrix.checkpoint.quantization().block;
  bool isTorchAo = matrix.find(kTorchAoData) != nullptr;
  if (isTorchAo) {
    auto tensor = torchAoTensor(matrix, {"Float8Tensor"});
    if (!tensor)
      return tensor.error();
    block = tensor->rows;
    width = tensor->columns;
  }
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  auto values = matrix.read(isTorchAo ? StringRef(kTorchAoData) : ".weight",
                            Float8E4M3FNType::get(matrix.builder.getContext()), matrix.shape);
  if (!values)
    return values.error();
  bool inverse = matrix.find(".weight_scale_inv") != nullptr;
  StringRef name = isTorchAo ? "._weight_scale" : inverse ? ".weight_scale_inv" : ".weight_scale";
  auto scale = matrix.part(name);
  if (!scale)
    return scale.error();
  EncodedWeight weight;
  weight.values = *values;
  int64_t group = 0;
  uint64_t count = 1;
  for (uint64_t extent : (*scale)->shape)
    count *= extent;
  int64_t blockRows = llvm::divideCeil(static_cast<uint64_t>(rows), block),
          blockColumns = llvm::divideCeil(static_cast<uint64_t>(columns), width);
  bool blocks = (*scale)->shape.size() == 2 && (inverse || (*scale)->shape[1] != 1) &&
                count == static_cast<uint64_t>(blockRows * blockColumns);
  if (blocks) {
    auto scales = matrix.readScales(name, {blockRows, blockColumns}, false);
    if (!scales)
      return scales.error();
    weight.scales = matrix.repeatRows(*scales, static_cast<int64_t>(block), rows);
    group = blockColumns == 1 ? 0 : static_cast<int64_t>(width);
  } else {
    bool whole = count == 1;
    auto scales = matrix.readScales(name, {whole ? 1 : rows, 1}, false);
    if (!scales)
      return scales.error();
    weight.scales = *scales;
    group = whole ? -1 : 0;
  }
  auto held = matrix.encoding(8, group);
  if (!held)
    return held.error();
  weight.encoding = *held;
  return weight;
}
