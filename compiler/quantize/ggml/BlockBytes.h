// SPDX-License-Identifier: Apache-2.0
// The bytes of ggml's blocks, from their parts: what splitGgml() takes apart.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/gguf/GgmlBlock.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ingot::quantize {

/// Writes the block whose parts splitGgml() would give. Scales and offsets must be f16 numbers.
/// Only for types of canEncodeGgml() that are blocks.
void joinGgml(checkpoint::DType dtype, const checkpoint::GgmlBlock &parts, std::byte *block);

inline uint16_t halfBits(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

} // namespace ingot::quantize
