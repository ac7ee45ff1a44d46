// SPDX-License-Identifier: Apache-2.0
// Numbers in ggml's blocks, which have the low byte first and any alignment.
#pragma once

#include <bit>
#include <cstdint>

namespace ingot::checkpoint::ggml {

using Block = const uint8_t *;

inline uint16_t u16At(Block at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
inline uint32_t u32At(Block at) { return u16At(at) | static_cast<uint32_t>(u16At(at + 2)) << 16; }
inline float half(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
inline float halfAt(Block at) { return half(u16At(at)); }

} // namespace ingot::checkpoint::ggml
