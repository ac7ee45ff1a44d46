// SPDX-License-Identifier: Apache-2.0
// How a camera was held: EXIF's orientation, or XMP's where EXIF has none, and turning by it.
#pragma once

#include "runtime/images/Resize.h"
#include "runtime/images/decode/Bytes.h"

namespace ingot::runtime::images {

/// The orientation in a block of EXIF, with or without the words "Exif" before it; 0: none.
uint32_t exifOrientation(ByteSpan exif);

/// The orientation in a packet of XMP; 0: none.
uint32_t xmpOrientation(ByteSpan xmp);

/// The picture as it is seen.
Pixels turned(Pixels pixels, uint32_t orientation);

} // namespace ingot::runtime::images
