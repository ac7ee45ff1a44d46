// SPDX-License-Identifier: Apache-2.0
// MXFP4: e2m1 with scales that are powers of two.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;
using llm::EncodedWeight;

/// weight_blocks [N, K / 32, 16] of e2m1, weight_scales [N, K / 32]: powers of two, by their
/// exponent plus 127. compressed-tensors has weight_packed [N, K / 2] and
/// weight_scale, Quark and ModelOpt weight and weight_scale. Experts have NAME_blocks [E, N / E, K
/// / 32, 16] and NAME_scales.
Expected<EncodedWeight> compiler::readMxFp4(StoredMatrix &matrix) {
  constexpr int64_t group = 32;
  int64_t rows = matrix.shape[0], columns = matrix.shape[1], groups = columns / group;
  if (columns % group != 0)
    return matrix.unsupported(message("MXFP4 with ", columns, " inputs"), "32 must divide them");
  StringRef packed = matrix.find(".weight") ? ".weight" : ".weight_packed";
  bool isPacked = matrix.find(packed) != nullptr;
  const Tensor *stack = matrix.find("_blocks");
  std::string name = stack ? "" : ".weight";
  SmallVector<int64_t> leading = {rows};
  if (stack && !stack->shape.empty() && stack->shape[0] > 0) {
    auto experts = static_cast<int64_t>(std::min(stack->shape[0], static_cast<uint64_t>(rows)));
    leading = {experts, rows / experts};
  }
  auto storedAs = [&](std::initializer_list<int64_t> rest) {
    SmallVector<int64_t> whole(leading);
    whole.append(rest);
    return whole;
  };
  auto values = isPacked
                    ? matrix.readNibbles(packed, {rows, columns / 2}, false)
                    : matrix.readNibbles(name + "_blocks", storedAs({groups, group / 2}), false);
  SmallVector<int64_t> scaleShape = storedAs({groups});
  auto scales = matrix.readBytes(isPacked ? ".weight_scale" : name + "_scales", DType::U8,
                                 {rows, groups}, ArrayRef<int64_t>(scaleShape));
  return matrix.codes(values, scales, matrix.e2m1(), group, matrix.powersOfTwo(1));
}
