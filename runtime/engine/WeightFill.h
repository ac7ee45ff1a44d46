// SPDX-License-Identifier: Apache-2.0
// Weights that the engine file describes instead of holding (Fill of Engine.fbs).
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/schema/Engine_generated.h"

namespace ingot::runtime {

/// Bytes of the longest pattern, which is made on the host before it is repeated on the device.
inline constexpr uint64_t kLongestPattern = uint64_t{16} << 20;

/// Whether `weight`, which has a fill, can be made: everything that fillWeight relies on.
/// INGOT-E5006.
Status verifyFill(const schema::Weight &weight);

/// Writes the weight's bytes at `memory`, which lies on `device` and has room for all of them. One
/// period of each part is made here; the device repeats it by copies within its memory. Takes at
/// most kLongestPattern bytes of host memory and tables of 9 bytes for each of its elements.
/// `weight` must have passed verifyFill.
void fillWeight(Device &device, void *memory, const schema::Weight &weight);

} // namespace ingot::runtime
