// SPDX-License-Identifier: Apache-2.0
// The grids of ggml's IQ types: which rows of numbers their blocks can name. Format:
// `ggml/src/ggml-common.h` of llama.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ingot::checkpoint {

/// Eight digits of two bits, or four of three (IQ3), the first one lowest. What a digit stands for
/// depends on the type.
extern const std::array<uint16_t, 256> iq2xxsGrid, iq3xxsGrid;
extern const std::array<uint16_t, 512> iq2xsGrid, iq3sGrid;
extern const std::array<uint16_t, 1024> iq2sGrid;
extern const std::array<uint16_t, 2048> iq1Grid;

} // namespace ingot::checkpoint
