// SPDX-License-Identifier: Apache-2.0
// ggml's block types.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;
using llm::EncodedWeight;

/// ggml's types that matrices may have, by name.
static std::string readableTypes() {
  std::string names;
  for (DType type : checkpoint::ggmlTypes())
    if (checkpoint::canDecodeGgml(type))
      names += message(names.empty() ? "" : ", ", dtypeName(type));
  return names;
}

/// Blocks along K, taken apart.
Expected<EncodedWeight> compiler::readBlocks(StoredMatrix &matrix) {
  auto found = matrix.part(".weight");
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  const checkpoint::GgmlEncoding *encoding = checkpoint::ggmlEncoding(tensor.dtype);
  if (!encoding)
    return Error{"INGOT-E1081",
                 message("tensor ", matrix.checkpoint.shownName(tensor.name), " holds ",
                         dtypeName(tensor.dtype), " blocks"),
                 matrix.checkpoint.fileName(tensor),
                 "supported: " + readableTypes() + "; convert the model to one of them"};
  if (auto fits = expectShape(matrix.checkpoint, tensor, matrix.shape); !fits)
    return fits.error();
  checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(tensor.dtype);
  int64_t rows = matrix.shape[0], columns = matrix.shape[1], bytes = unit.bits / 8;
  const HeldFormat &held = encoding->held;
  int64_t blocks = columns / unit.elements;
  auto at = atSite(matrix.builder.getContext(), tensor.name);
  Value stored = llm::WeightOp::create(
      matrix.builder, at, RankedTensorType::get({rows, blocks * bytes}, matrix.integer(8)),
      tensor.name, matrix.checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset));
  auto take = [&](StringRef name, Type element, int64_t width) -> Value {
    return llm::BlockPartOp::create(matrix.builder, matrix.location,
                                    RankedTensorType::get({rows, width}, element), stored, name,
                                    dtypeName(tensor.dtype), bytes);
  };
  auto element = [&](ElementType type) {
    return engine::typeFor(matrix.builder.getContext(), type);
  };
  EncodedWeight weight;
  int64_t groups = held.encoding.groupsOf(columns);
  int64_t superScales = held.encoding.superShape(rows, columns).columns;
  weight.values = take("values", element(held.encoding.element()), columns);
  weight.scales = take("scales", element(held.scaleElement()), groups);
  if (held.encoding.hasOffsets())
    weight.zeros = take("offsets", element(held.zeroElement()), groups);
  if (held.encoding.hasCodeBook())
    weight.zeros = matrix.codeBook(dtypeName(tensor.dtype),
                                   {encoding->codeBook.data(), encoding->codeBook.size()});
  if (superScales)
    weight.superScales = take("super_scales", element(held.scale), superScales);
  if (!encoding->scaleTable.empty())
    weight.superScales =
        matrix.codeBook(message(dtypeName(tensor.dtype), ".scales"),
                        {encoding->scaleTable.data(), encoding->scaleTable.size()});
  weight.encoding = encodingOf(matrix.builder.getContext(), held,
                               groups == 1 && !superScales ? 0 : held.encoding.group);
  return weight;
}
