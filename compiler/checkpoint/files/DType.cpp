// SPDX-License-Identifier: Apache-2.0
// The table of element types. Sizes of ggml's blocks: `ggml/src/ggml-common.h` of llama.cpp.
#include "compiler/checkpoint/files/DType.h"

#include <algorithm>
#include <array>

namespace ingot::checkpoint {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  DTypeUnit unit;
};

constexpr DTypeUnit element(uint32_t bits) { return {1, bits}; }
constexpr DTypeUnit block(uint32_t elements, uint32_t bytes) { return {elements, bytes * 8}; }

constexpr std::array<DTypeRow, 47> dtypes = {{
    {DType::Bool, "BOOL", element(8)},
    {DType::U8, "U8", element(8)},
    {DType::I8, "I8", element(8)},
    {DType::U16, "U16", element(16)},
    {DType::I16, "I16", element(16)},
    {DType::U32, "U32", element(32)},
    {DType::I32, "I32", element(32)},
    {DType::U64, "U64", element(64)},
    {DType::I64, "I64", element(64)},
    {DType::F4, "F4", element(4)},
    {DType::F6E2M3, "F6_E2M3", element(6)},
    {DType::F6E3M2, "F6_E3M2", element(6)},
    {DType::F8E4M3, "F8_E4M3", element(8)},
    {DType::F8E5M2, "F8_E5M2", element(8)},
    {DType::F8E8M0, "F8_E8M0", element(8)},
    {DType::F8E4M3Fnuz, "F8_E4M3FNUZ", element(8)},
    {DType::F8E5M2Fnuz, "F8_E5M2FNUZ", element(8)},
    {DType::F16, "F16", element(16)},
    {DType::BF16, "BF16", element(16)},
    {DType::F32, "F32", element(32)},
    {DType::F64, "F64", element(64)},
    {DType::C64, "C64", element(64)},
    {DType::Q4_0, "Q4_0", block(32, 18)},
    {DType::Q4_1, "Q4_1", block(32, 20)},
    {DType::Q5_0, "Q5_0", block(32, 22)},
    {DType::Q5_1, "Q5_1", block(32, 24)},
    {DType::Q8_0, "Q8_0", block(32, 34)},
    {DType::Q8_1, "Q8_1", block(32, 36)},
    {DType::Q2_K, "Q2_K", block(256, 84)},
    {DType::Q3_K, "Q3_K", block(256, 110)},
    {DType::Q4_K, "Q4_K", block(256, 144)},
    {DType::Q5_K, "Q5_K", block(256, 176)},
    {DType::Q6_K, "Q6_K", block(256, 210)},
    {DType::Q8_K, "Q8_K", block(256, 292)},
    {DType::IQ1_S, "IQ1_S", block(256, 50)},
    {DType::IQ1_M, "IQ1_M", block(256, 56)},
    {DType::IQ2_XXS, "IQ2_XXS", block(256, 66)},
    {DType::IQ2_XS, "IQ2_XS", block(256, 74)},
    {DType::IQ2_S, "IQ2_S", block(256, 82)},
    {DType::IQ3_XXS, "IQ3_XXS", block(256, 98)},
    {DType::IQ3_S, "IQ3_S", block(256, 110)},
    {DType::IQ4_NL, "IQ4_NL", block(32, 18)},
    {DType::IQ4_XS, "IQ4_XS", block(256, 136)},
    {DType::TQ1_0, "TQ1_0", block(256, 54)},
    {DType::TQ2_0, "TQ2_0", block(256, 66)},
    {DType::MXFP4, "MXFP4", block(32, 17)},
    {DType::NVFP4, "NVFP4", block(64, 36)},
}};

constexpr bool rowsFollowTheEnum() {
  for (size_t i = 0; i < dtypes.size(); ++i)
    if (static_cast<size_t>(dtypes[i].dtype) != i)
      return false;
  return true;
}
static_assert(rowsFollowTheEnum());

} // namespace

std::string_view dtypeName(DType dtype) { return dtypes[static_cast<size_t>(dtype)].name; }
DTypeUnit dtypeUnit(DType dtype) { return dtypes[static_cast<size_t>(dtype)].unit; }

std::optional<ElementType> readAs(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return kF32;
  case DType::F16:
    return kF16;
  case DType::BF16:
    return kBf16;
  case DType::F8E4M3:
    return kE4m3;
  case DType::I8:
  case DType::U8:
  case DType::I16:
    return kI8;
  case DType::I32:
    return kI32;
  default:
    return std::nullopt;
  }
}

std::vector<DType> elementTypes() {
  std::vector<DType> types;
  for (const DTypeRow &row : dtypes)
    if (row.unit.elements == 1)
      types.push_back(row.dtype);
  return types;
}

static std::optional<DType> find(std::string_view name, bool blocks) {
  for (const DTypeRow &row : dtypes)
    if (row.name == name && (row.unit.elements > 1) == blocks)
      return row.dtype;
  return std::nullopt;
}

std::optional<DType> dtypeFromName(std::string_view name) { return find(name, false); }
std::optional<DType> blockTypeFromName(std::string_view name) { return find(name, true); }

std::optional<uint64_t> storedBytes(DType dtype, std::span<const uint64_t> shape) {
  const DTypeUnit unit = dtypeUnit(dtype);
  const uint64_t inner = shape.empty() ? 1 : shape.back();
  if (inner % unit.elements != 0)
    return std::nullopt;
  // A dimension of 0 makes the product 0 whatever the others say.
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end())
    return 0;
  uint64_t bits = unit.bits;
  if (__builtin_mul_overflow(bits, inner / unit.elements, &bits))
    return std::nullopt;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    if (__builtin_mul_overflow(bits, shape[i], &bits))
      return std::nullopt;
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

} // namespace ingot::checkpoint
