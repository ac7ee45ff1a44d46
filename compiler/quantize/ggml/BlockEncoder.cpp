// SPDX-License-Identifier: Apache-2.0
// The types that can be encoded, and the way of rows through them.
#include "compiler/quantize/ggml/BlockEncoder.h"

#include "compiler/quantize/ggml/BlockBytes.h"
#include "compiler/quantize/ggml/BlockFamilies.h"

#include <cstring>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::Error;
using checkpoint::GgmlBlock;
using checkpoint::message;
using checkpoint::Outcome;

namespace {

struct EncoderRow {
  DType dtype;
  void (*encode)(DType dtype, const BlockSource &source, GgmlBlock &parts);
};

constexpr EncoderRow encoders[] = {
    {DType::Q4_0, encodeScaled},      {DType::Q4_1, encodeAffine},
    {DType::Q5_0, encodeScaled},      {DType::Q5_1, encodeAffine},
    {DType::Q8_0, encodeScaled},      {DType::IQ4_NL, encodeScaled},
    {DType::Q2_K, encodeAffineSuper}, {DType::Q3_K, encodeScaledSuper},
    {DType::Q4_K, encodeAffineSuper}, {DType::Q5_K, encodeAffineSuper},
    {DType::Q6_K, encodeScaledSuper}, {DType::IQ4_XS, encodeScaledSuper},
};

const EncoderRow *encoderOf(DType dtype) {
  for (const EncoderRow &row : encoders)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

bool isPlain(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

/// To the nearest, ties to even. A number beyond the largest stays finite.
uint16_t bf16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto rounded = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return (rounded & 0x7f80) == 0x7f80 ? static_cast<uint16_t>(rounded - 1) : rounded;
}

void putPlain(DType dtype, float value, std::byte *at) {
  if (dtype == DType::F32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const uint16_t bits =
      dtype == DType::BF16 ? bf16Bits(value) : halfBits(std::clamp(value, -65504.0f, 65504.0f));
  std::memcpy(at, &bits, sizeof bits);
}

Outcome checkNumbers(const float *rows, uint64_t count, uint64_t columns,
                     std::span<const float> importance) {
  for (uint64_t i = 0; i < importance.size(); ++i)
    if (!std::isfinite(importance[i]) || importance[i] < 0)
      return Error{"INGOT-E1130",
                   message("the importance of column ", i, " is NaN, infinite or negative"), "",
                   "measure the importance again"};
  for (uint64_t i = 0; i < count * columns; ++i)
    if (!std::isfinite(rows[i]))
      return Error{"INGOT-E1130",
                   message("the number in row ", i / columns, ", column ", i % columns,
                           " is NaN or infinite"),
                   "", "convert the model again"};
  return {};
}

} // namespace

bool canEncodeGgml(DType dtype) { return encoderOf(dtype) || isPlain(dtype); }

Outcome encodeRows(DType dtype, const float *rows, uint64_t count, uint64_t columns,
                   std::span<const float> importance, std::span<std::byte> out) {
  const EncoderRow *encoder = encoderOf(dtype);
  const uint64_t shape[] = {count, columns};
  const auto bytes = checkpoint::storedBytes(dtype, shape);
  if ((!encoder && !isPlain(dtype)) || bytes != out.size() ||
      (!importance.empty() && importance.size() != columns))
    return Error{"INGOT-E1131",
                 message(count, " rows of ", columns, " numbers, with ", importance.size(),
                         " importances, cannot become ", out.size(), " bytes of ",
                         checkpoint::dtypeName(dtype)),
                 "", "take another type"};
  if (Outcome checked = checkNumbers(rows, count, columns, importance); !checked)
    return checked;
  const checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(dtype);
  std::byte *at = out.data();
  for (uint64_t row = 0; row < count; ++row)
    for (uint64_t column = 0; column < columns; column += unit.elements, at += unit.bits / 8) {
      const float *numbers = rows + row * columns + column;
      if (!encoder) {
        putPlain(dtype, *numbers, at);
        continue;
      }
      const BlockSource source(numbers, importance.empty() ? nullptr : importance.data() + column,
                               static_cast<int>(unit.elements));
      GgmlBlock parts;
      encoder->encode(dtype, source, parts);
      joinGgml(dtype, parts, at);
    }
  return {};
}

} // namespace ingot::quantize
