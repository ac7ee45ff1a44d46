// SPDX-License-Identifier: Apache-2.0
// Bytes of scales and words.
#include "compiler/quantize/layouts/Packing.h"

#include <bit>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using json = nlohmann::ordered_json;

ScaleType layouts::ownScaleType(DType own) {
  return own == DType::BF16 ? ScaleType::BF16 : own == DType::F16 ? ScaleType::F16 : ScaleType::F32;
}

static DType typeOf(ScaleType type) {
  switch (type) {
  case ScaleType::F16:
    return DType::F16;
  case ScaleType::BF16:
    return DType::BF16;
  case ScaleType::F32:
    return DType::F32;
  }
  return DType::F32;
}

/// The value's 16 or 32 bits; it is representable in `type`.
static uint32_t bitsOfScale(ScaleType type, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (type == ScaleType::BF16)
    return bits >> 16;
  if (type == ScaleType::F32)
    return bits;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

TensorData layouts::scaleTensor(std::string name, const QuantizedMatrix &matrix, bool transposed) {
  const int64_t rows = matrix.rows, groups = matrix.groups();
  const ScaleType type = matrix.grid.scales;
  TensorData tensor{{std::move(name), typeOf(type), {}}, {}};
  tensor.header.shape = {static_cast<uint64_t>(transposed ? groups : rows),
                         static_cast<uint64_t>(transposed ? rows : groups)};
  const size_t width = type == ScaleType::F32 ? 4 : 2;
  tensor.bytes.resize(tensor.header.bytes());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group) {
      const uint32_t bits =
          bitsOfScale(type, matrix.scales[static_cast<size_t>(row * groups + group)]);
      const auto place =
          static_cast<size_t>(transposed ? group * rows + row : row * groups + group);
      std::memcpy(tensor.bytes.data() + place * width, &bits, width);
    }
  return tensor;
}

std::vector<std::byte> layouts::transposeWords(const std::vector<std::byte> &words, int64_t rows,
                                               int64_t columns) {
  std::vector<std::byte> out(words.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(out.data() + (k * rows + i) * 4, words.data() + (i * columns + k) * 4, 4);
  return out;
}

std::vector<uint8_t> layouts::packNibbles(std::span<const uint8_t> codes, bool highFirst) {
  std::vector<uint8_t> bytes((codes.size() + 1) / 2);
  for (size_t i = 0; i < codes.size(); ++i)
    bytes[i / 2] |= static_cast<uint8_t>(codes[i] << ((i % 2 == 1) != highFirst ? 4 : 0));
  return bytes;
}

uint8_t layouts::zeroOf(const QuantizedMatrix &matrix, int64_t row, int64_t group) {
  return matrix.zeros.empty() ? static_cast<uint8_t>(1 << (matrix.grid.bits - 1))
                              : matrix.zeros[static_cast<size_t>(row * matrix.groups() + group)];
}

uint8_t layouts::codeOf(const QuantizedMatrix &matrix, int64_t row, int64_t column) {
  return matrix.codes[static_cast<size_t>(row * matrix.columns + column)];
}

std::vector<uint8_t> layouts::signedBytes(const QuantizedMatrix &matrix) {
  std::vector<uint8_t> bytes(matrix.codes);
  for (uint8_t &code : bytes)
    code ^= 0x80; // less 128
  return bytes;
}

json layouts::listOf(std::span<const std::string> names) {
  return json(std::vector(names.begin(), names.end()));
}

int32_t layouts::bitsOf(recipe::NumberFormat type) {
  return gridOf({.type = type}, ScaleType::F32)->bits;
}

std::string layouts::refusalOfWords(const recipe::WeightFormat &format, int64_t columns) {
  if (format.group > 0 && columns % format.group != 0)
    return "its columns are no whole number of groups";
  return columns * bitsOf(format.type) % 32 != 0 ? "its rows are no whole number of words" : "";
}

Expected<recipe::WeightFormat> layouts::onlyFormat(std::span<const ModuleRecord> modules,
                                                   std::string_view layout) {
  const ModuleRecord &first = modules.front();
  for (const ModuleRecord &record : modules) {
    if (record.format.group != first.format.group)
      return Error{"INGOT-E2109",
                   checkpoint::message("the format ", layout,
                                       " has one group size for all modules, ", record.module,
                                       " needs ", record.format.group, " where ", first.module,
                                       " has ", first.format.group),
                   "--format", "choose compressed-tensors, or a group that divides all matrices"};
    if (record.format.type != first.format.type)
      return Error{"INGOT-E2109",
                   checkpoint::message("the format ", layout, " has one type for all modules, ",
                                       record.module, " has another than ", first.module),
                   "--format", "choose compressed-tensors, or one type for all matrices"};
  }
  return first.format;
}
