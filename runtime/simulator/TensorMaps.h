// SPDX-License-Identifier: Apache-2.0
// The recipe of a tensor copy, as cuTensorMapEncodeTiled keeps it in the 128 bytes of a map.
#pragma once

#include <cstdint>

namespace ingot::simulator {

constexpr uint32_t tensorRecipeMagic = 0x50414d54;

struct TensorRecipe {
  uint32_t magic;
  uint16_t rank;
  uint8_t elementBytes;
  uint8_t swizzle; // 0 none, 1 to 3: 32, 64, 128 bytes
  uint64_t address;
  uint32_t sizes[5]; // in elements, innermost first
  uint16_t box[5];   // in elements
  uint16_t reserved;
  uint64_t strides[5]; // in bytes; the first is that of an element
};
static_assert(sizeof(TensorRecipe) <= 128);

} // namespace ingot::simulator
