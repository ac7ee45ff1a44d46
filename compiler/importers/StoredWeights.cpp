// SPDX-License-Identifier: Apache-2.0
// Which reader takes a matrix.
#include "compiler/importers/StoredWeights.h"

#include "compiler/importers/PackedValues.h"
#include "compiler/importers/Signature.h"
#include "compiler/importers/formats/FormatReaders.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::FormatReader;
using checkpoint::Tensor;
using llm::EncodedWeight;

namespace {

struct Reader {
  FormatReader format;
  Expected<EncodedWeight> (*read)(StoredMatrix &);
  Signature signatures[4];
};

#define INGOT_FORMAT_READER(name, ...) {FormatReader::name, read##name, {__VA_ARGS__}},
constexpr Reader kReaders[] = {INGOT_FORMAT_READERS(INGOT_FORMAT_READER)};
#undef INGOT_FORMAT_READER

bool fits(const StoredMatrix &matrix, const Signature &signature, FormatReader format) {
  const Tensor *tensor = signature.part.empty() ? nullptr : matrix.find(signature.part);
  return tensor && (!signature.type || tensor->dtype == *signature.type) &&
         (signature.beside.empty() || matrix.find(signature.beside)) &&
         (!signature.isStated || matrix.checkpoint.quantization().packing == format);
}

StringRef moduleOf(StringRef name) {
  name.consume_back(".weight");
  return name;
}

} // namespace

std::string compiler::matrixName(StringRef stored) {
  for (StringRef part : packedValues())
    if (stored.ends_with(part))
      return (stored.drop_back(part.size()) + (part.starts_with(".") ? ".weight" : "")).str();
  return stored.str();
}

bool StoredWeights::isQuantized(StringRef name) const {
  std::string module = moduleOf(name).str();
  for (StringRef part : packedValues())
    if (checkpoint.find(module + part.str()))
      return true;
  const Tensor *weight = checkpoint.find(module + ".weight");
  if (weight && checkpoint::isBlockType(weight->dtype))
    return true;
  return weight && !plainType(builder, weight->dtype) && checkpoint.quantization().isQuantized();
}

Expected<EncodedWeight> StoredWeights::take(StoredMatrix &matrix) const {
  const Tensor *weight = matrix.find(".weight");
  if (weight && checkpoint::isBlockType(weight->dtype))
    return readBlocks(matrix);
  for (const Reader &reader : kReaders)
    for (const Signature &signature : reader.signatures)
      if (fits(matrix, signature, reader.format)) {
        matrix.reader = reader.format;
        return reader.read(matrix);
      }
  return matrix.unsupported("this way of storing it", "docs/formats.md lists what is");
}

Expected<Value> StoredWeights::matrix(StringRef name, ArrayRef<int64_t> shape) {
  StoredMatrix matrix{builder, checkpoint, moduleOf(name).str(), shape,
                      atSite(builder.getContext(), name)};
  auto weight = take(matrix);
  order = std::move(matrix.columnOrder);
  if (!weight)
    return weight.error();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return Value(llm::DequantizeOp::create(builder, matrix.location, type, *weight));
}
