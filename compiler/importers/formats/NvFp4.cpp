// SPDX-License-Identifier: Apache-2.0
// NVFP4: e2m1 with scales of e4m3 and one for all.
#include "compiler/importers/formats/FormatReaders.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// weight_scale [N, K / 16] of e4m3. compressed-tensors: weight_packed [N, K / 2] of e2m1, and
/// weight_global_scale [1], which divides every scale. ModelOpt: weight [N, K / 2], and
/// weight_scale_2, a scalar, which multiplies them.
Expected<EncodedWeight> compiler::readNvFp4(StoredMatrix &matrix) {
  constexpr int64_t group = 16;
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  bool isModelOpt = matrix.find(".weight_scale_2") != nullptr;
  auto global = matrix.numbers(isModelOpt ? ".weight_scale_2" : ".weight_global_scale", 1);
  if (!global)
    return global.error();
  if (columns % group != 0)
    return matrix.unsupported(message("NVFP4 with ", columns, " inputs"), "16 must divide them");
  SmallVector<float> book;
  for (unsigned code = 0; code < 256; ++code) {
    llvm::APFloat scale(llvm::APFloat::Float8E4M3FN(), llvm::APInt(8, code));
    float whole = isModelOpt ? scale.convertToFloat() * global->front()
                             : scale.convertToFloat() / global->front();
    book.push_back(whole / 2);
  }
  auto values =
      matrix.readNibbles(isModelOpt ? ".weight" : ".weight_packed", {rows, columns / 2}, false);
  auto scales = matrix.readBytes(".weight_scale", DType::F8E4M3, {rows, columns / group});
  return matrix.codes(values, scales, matrix.e2m1(), group, matrix.codeBook("e4m3", book));
}
