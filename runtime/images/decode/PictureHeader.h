// SPDX-License-Identifier: Apache-2.0
// What is known of an encoded picture before it is decoded.
#pragma once

#include "runtime/images/Picture.h"

#include <cstdint>

namespace ingot::runtime::images {

/// What the header of a picture says; nothing is decoded for it.
struct PictureHeader {
  PictureFormat format = PictureFormat::Png;
  uint32_t width = 0, height = 0; ///< as stored
  uint32_t orientation = 1;       ///< EXIF's, 1 to 8
  uint32_t notes = 0;             ///< of PictureNote

  /// The picture as it is seen.
  uint32_t shownWidth() const { return orientation > 4 ? height : width; }
  uint32_t shownHeight() const { return orientation > 4 ? width : height; }
};

} // namespace ingot::runtime::images
