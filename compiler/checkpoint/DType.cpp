// SPDX-License-Identifier: Apache-2.0
// The table of element types.
#include "compiler/checkpoint/DType.h"

#include <array>

namespace ingot::checkpoint {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  uint32_t bits;
};

constexpr std::array<DTypeRow, 22> dtypes = {{
    {DType::Bool, "BOOL", 8},
    {DType::U8, "U8", 8},
    {DType::I8, "I8", 8},
    {DType::U16, "U16", 16},
    {DType::I16, "I16", 16},
    {DType::U32, "U32", 32},
    {DType::I32, "I32", 32},
    {DType::U64, "U64", 64},
    {DType::I64, "I64", 64},
    {DType::F4, "F4", 4},
    {DType::F6E2M3, "F6_E2M3", 6},
    {DType::F6E3M2, "F6_E3M2", 6},
    {DType::F8E4M3, "F8_E4M3", 8},
    {DType::F8E5M2, "F8_E5M2", 8},
    {DType::F8E8M0, "F8_E8M0", 8},
    {DType::F8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    {DType::F8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    {DType::F16, "F16", 16},
    {DType::BF16, "BF16", 16},
    {DType::F32, "F32", 32},
    {DType::F64, "F64", 64},
    {DType::C64, "C64", 64},
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
uint32_t dtypeBits(DType dtype) { return dtypes[static_cast<size_t>(dtype)].bits; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (const DTypeRow &row : dtypes)
    if (row.name == name)
      return row.dtype;
  return std::nullopt;
}

} // namespace ingot::checkpoint
