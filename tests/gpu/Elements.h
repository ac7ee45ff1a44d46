// SPDX-License-Identifier: Apache-2.0
// Values of stored elements.
#pragma once

#include "tests/gpu/LaunchRecord.h"

namespace ingot::record {

/// The value of the element at `bytes`.
double elementValue(Element element, const uint8_t *bytes);

} // namespace ingot::record
