// SPDX-License-Identifier: Apache-2.0
// DType: the element types of stored tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::checkpoint {

/// Element types a file can store. F4, F6: OCP microscaling elements, packed without gaps.
// clang-format off
enum class DType : uint8_t {
  Bool, U8, I8, U16, I16, U32, I32, U64, I64,
  F4, F6E2M3, F6E3M2, F8E4M3, F8E5M2, F8E8M0, F8E4M3Fnuz, F8E5M2Fnuz,
  F16, BF16, F32, F64, C64,
};
// clang-format on

/// The name the container uses: "BF16", "F8_E4M3", ...
std::string_view dtypeName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view name);
/// Bits of one element.
uint32_t dtypeBits(DType dtype);

} // namespace ingot::checkpoint
