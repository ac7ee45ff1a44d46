// SPDX-License-Identifier: Apache-2.0
// What layouts have in common: scales, and words of fields.
#pragma once

#include "compiler/quantize/StoredLayouts.h"

#include <cstring>

namespace ingot::quantize::layouts {

/// That in which a model whose own type is `own` computes.
ScaleType ownScaleType(checkpoint::DType own);

/// Scales of `matrix`, [rows, groups], or transposed.
TensorData scaleTensor(std::string name, const QuantizedMatrix &matrix, bool transposed);

/// A tensor with the bytes of `values`, which lie one after the other.
template <class Values>
TensorData tensorOf(std::string name, checkpoint::DType type, std::vector<uint64_t> shape,
                    const Values &values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{std::move(name), type, std::move(shape)}, {bytes.begin(), bytes.end()}};
}

/// Words of fields of `bits` bits, low ones first: `count` runs of `length` fields, each of which
/// begins with a word of its own. `field(run, i)`.
template <class Field>
std::vector<std::byte> packWords(int64_t count, int64_t length, int32_t bits, const Field &field) {
  const int64_t words = (length * bits + 31) / 32;
  std::vector<std::byte> bytes(static_cast<size_t>(count * words) * 4);
  std::vector<uint32_t> run(static_cast<size_t>(words));
  for (int64_t i = 0; i < count; ++i) {
    std::fill(run.begin(), run.end(), 0);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t bit = k * bits;
      run[static_cast<size_t>(bit / 32)] |= uint32_t{field(i, k)} << (bit % 32);
    }
    std::memcpy(bytes.data() + static_cast<size_t>(i * words) * 4, run.data(), run.size() * 4);
  }
  return bytes;
}

/// Words [rows, columns], transposed.
std::vector<std::byte> transposeWords(const std::vector<std::byte> &words, int64_t rows,
                                      int64_t columns);

/// Codes 0 ... 15 in pairs, of which the first is in the low half of a byte, or in the high one.
std::vector<uint8_t> packNibbles(std::span<const uint8_t> codes, bool highFirst);

/// The code that stands for zero.
uint8_t zeroOf(const QuantizedMatrix &matrix, int64_t row, int64_t group);
uint8_t codeOf(const QuantizedMatrix &matrix, int64_t row, int64_t column);

/// Codes of 8 bits in two's complement.
std::vector<uint8_t> signedBytes(const QuantizedMatrix &matrix);

nlohmann::ordered_json listOf(std::span<const std::string> names);

/// Bits of an integer type.
int32_t bitsOf(recipe::NumberFormat type);
/// Why words of rows of columns cannot be stored; empty if they can.
std::string refusalOfWords(const recipe::WeightFormat &format, int64_t columns);
/// The format that all modules have. Errors: INGOT-E2109.
checkpoint::Expected<recipe::WeightFormat> onlyFormat(std::span<const ModuleRecord> modules,
                                                      std::string_view layout);

} // namespace ingot::quantize::layouts
