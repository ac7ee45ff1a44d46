// SPDX-License-Identifier: Apache-2.0
// Facts of pictures as words.
#include "runtime/images/Picture.h"

namespace ingot::runtime::images {

const char *formatName(PictureFormat format) {
  switch (format) {
  case PictureFormat::Png:
    return "PNG";
  case PictureFormat::Jpeg:
    return "JPEG";
  case PictureFormat::WebP:
    return "WebP";
  }
  return "unknown";
}

std::string notesText(uint32_t notes) {
  static constexpr struct {
    uint32_t note;
    const char *text;
  } texts[] = {{Turned, "turned by its EXIF orientation"},
               {AlphaDropped, "transparency dropped"},
               {FirstFrame, "animated: first frame"},
               {SixteenBits, "16 bits a sample cut to 8"},
               {ConvertedInks, "CMYK converted"}};
  std::string text;
  for (const auto &[note, words] : texts)
    if (notes & note)
      text += (text.empty() ? "" : ", ") + std::string(words);
  return text;
}

} // namespace ingot::runtime::images
