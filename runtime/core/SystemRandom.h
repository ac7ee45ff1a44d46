// SPDX-License-Identifier: Apache-2.0
// Numbers that nobody can foretell, for seeds and names.
#pragma once

#include <cstdint>

namespace ingot::runtime {

/// 64 bits of the kernel's random generator; of the clock on a system that has none.
/// `std::random_device` of a static libstdc++ would need a C library of 2022 (`arc4random`).
uint64_t systemRandom();

} // namespace ingot::runtime
