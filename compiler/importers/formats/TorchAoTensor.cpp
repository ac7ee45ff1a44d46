// SPDX-License-Identifier: Apache-2.0
// Reads the metadata.
#include "compiler/importers/formats/TorchAoTensor.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;

Expected<TorchAoTensor> compiler::torchAoTensor(const StoredMatrix &matrix,
                                                ArrayRef<StringRef> classes) {
  const std::string name = matrix.module + ".weight";
  const std::string *text = matrix.checkpoint.fileMetadata(name);
  auto found = matrix.part(kTorchAoData);
  if (!found)
    return found.error();
  const std::string where = matrix.checkpoint.fileName(**found) + ", __metadata__ of " + name;
  if (!text)
    return matrix.unsupported("a packed weight of which no metadata tell",
                              "save the model with TorchAO's support for safetensors");
  auto object = checkpoint::Json::parse(*text, where);
  if (!object)
    return object.error();
  const std::string type = checkpoint::JsonFields(*object).stringOr("_type", "");
  if (!llvm::is_contained(classes, type))
    return matrix.unsupported("TorchAO's " + inQuotes(type),
                              "supported where config.json says so: " + llvm::join(classes, ", "));
  for (StringRef part : {"act_pre_scale", "act_quant_scale", "act_quant_zero_point"})
    if (matrix.find(("._weight_" + part).str()))
      return matrix.unsupported(part.str() + ", which is for inputs",
                                "quantize with scales of inputs that are found at run time");
  auto data = object->at("_data");
  if (!data)
    return data.error();
  checkpoint::JsonFields fields(*data);
  auto rows = static_cast<uint64_t>(matrix.shape[0]),
       columns = static_cast<uint64_t>(matrix.shape[1]);
  auto block = fields.unsignedIntegers("block_size", 1, std::max(rows, columns));
  if (fields.error())
    return *fields.error();
  if (!block || block->size() != 2 || rows % block->front() != 0 || columns % block->back() != 0)
    return matrix.unsupported("a block_size that does not divide the matrix",
                              message("it has ", rows, " x ", columns, " numbers"));
  return TorchAoTensor{*data, static_cast<int64_t>(block->front()),
                       static_cast<int64_t>(block->back())};
}
