// SPDX-License-Identifier: Apache-2.0
// Descriptors of tensor copies (TMA), made from the recipes in an engine.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/devices/cuda/Driver.h"

namespace ingot::runtime {

/// Why no tensor map can be made of `recipe`, by the limits that the driver states; empty: one can.
std::string tensorMapFault(const TensorMapRecipe &recipe);

/// Bytes that the address of a tensor map's buffer is a multiple of.
inline constexpr uint64_t kTensorMapAlignment = 16;

/// Encodes a recipe without fault for the buffer at `address` as a matrix whose copies fill with
/// zeros, and count all bytes of a box. The driver refuses what the device cannot copy.
cuda::DriverResult encodeTensorMap(const Driver &driver, const TensorMapRecipe &recipe,
                                   cuda::DevicePointer address, cuda::TensorMap &map);

} // namespace ingot::runtime
