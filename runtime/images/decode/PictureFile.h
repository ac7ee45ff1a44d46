// SPDX-License-Identifier: Apache-2.0
// Encoded pictures: what their header says, then their pixels, as Pillow's exif_transpose and
// convert("RGB") give them.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/images/Resize.h"
#include "runtime/images/decode/PictureHeader.h"

#include <cstdint>
#include <span>

namespace ingot::runtime::images {

/// INGOT-E6801: no PNG, JPEG or WebP. INGOT-E6802: the file ends early. INGOT-E6803: it is damaged,
/// or of a kind that is not decoded. INGOT-E6804: over a limit.
Result<PictureHeader> readHeader(std::span<const uint8_t> bytes, const PictureLimits &limits);

/// The whole picture, turned as it is seen, or an error as above; never a part. `header` is what
/// `readHeader` gave for these bytes.
Result<Pixels> decodePicture(std::span<const uint8_t> bytes, const PictureHeader &header);

} // namespace ingot::runtime::images
