// SPDX-License-Identifier: Apache-2.0
// Values of stored elements.
#pragma once

#include "runtime/schema/Engine_generated.h"

#include <cstddef>
#include <cstdint>

namespace ingot::runtime {

/// The value of element `index` of an array at `data`; false when a single element of the type has
/// no meaning as an f32.
bool elementValue(schema::DType type, const uint8_t *data, size_t index, float &value);

} // namespace ingot::runtime
