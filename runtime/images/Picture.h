// SPDX-License-Identifier: Apache-2.0
// Facts of an encoded picture, and how large it may be.
#pragma once

#include <cstdint>
#include <string>

namespace ingot::runtime::images {

enum class PictureFormat : uint32_t { Png, Jpeg, WebP };

/// Bits of what a reader of the answer should know of a picture.
enum PictureNote : uint32_t {
  Turned = 1,        ///< its EXIF orientation was applied
  AlphaDropped = 2,  ///< transparent parts show the colours that lie under them
  FirstFrame = 4,    ///< it is animated; this is its first frame
  SixteenBits = 8,   ///< of more than 8 bits a sample, which were cut
  ConvertedInks = 16 ///< CMYK
};
inline constexpr uint32_t allNotes = 31;

/// Limits are checked before anything is allocated for a picture.
struct PictureLimits {
  uint64_t bytes = 32u << 20;  ///< of a file
  uint64_t pixels = 64u << 20; ///< of a picture
  uint32_t side = 16384;       ///< longest side
};

/// "PNG", ...
const char *formatName(PictureFormat format);

/// What notes say, separated by commas.
std::string notesText(uint32_t notes);

} // namespace ingot::runtime::images
