// SPDX-License-Identifier: Apache-2.0
// Finds orientations as Pillow does, and turns pictures.
#include "runtime/images/decode/Orientation.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ingot::runtime::images {
namespace {

constexpr uint32_t orientationTag = 0x0112;

struct TiffReader {
  ByteSpan bytes;
  bool big;

  bool has(uint64_t at, uint64_t count) const {
    return at <= bytes.size() && count <= bytes.size() - at;
  }
  uint32_t read16(uint64_t at) const {
    const uint8_t *p = bytes.data() + at;
    return big ? bigEndian16(p) : uint32_t(p[1]) << 8 | p[0];
  }
  uint32_t read32(uint64_t at) const {
    return big ? read16(at) << 16 | read16(at + 2) : read16(at + 2) << 16 | read16(at);
  }
};

uint32_t known(uint32_t value) { return value && value <= 8 ? value : 1; }

} // namespace

uint32_t exifOrientation(ByteSpan exif) {
  using namespace std::string_view_literals;
  if (startsWith(exif, "Exif\0\0"sv))
    exif = exif.subspan(6);
  const bool big = startsWith(exif, "MM\0*"sv);
  if (!big && !startsWith(exif, "II*\0"sv))
    return 0;
  const TiffReader tiff{exif, big};
  if (!tiff.has(4, 4))
    return 0;
  const uint64_t directory = tiff.read32(4);
  if (!tiff.has(directory, 2))
    return 0;
  const uint32_t count = tiff.read16(directory);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t entry = directory + 2 + uint64_t(i) * 12;
    if (!tiff.has(entry, 12))
      return 0;
    if (tiff.read16(entry) != orientationTag)
      continue;
    if (tiff.read32(entry + 4) != 1)
      return 0;
    switch (tiff.read16(entry + 2)) {
    case 1: // a byte
      return known(exif[entry + 8]);
    case 3: // 16 bits
      return known(tiff.read16(entry + 8));
    case 4: // 32 bits
      return known(tiff.read32(entry + 8));
    default:
      return 0;
    }
  }
  return 0;
}

uint32_t xmpOrientation(ByteSpan xmp) {
  const std::string_view text(reinterpret_cast<const char *>(xmp.data()), xmp.size());
  constexpr std::string_view name = "tiff:Orientation";
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    std::string_view rest = text.substr(at + name.size());
    if (rest.starts_with("=\""))
      rest.remove_prefix(2);
    else if (rest.starts_with(">"))
      rest.remove_prefix(1);
    else
      continue;
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
      return known(uint32_t(rest[0] - '0'));
  }
  return 0;
}

Pixels turned(Pixels pixels, uint32_t orientation) {
  if (orientation < 2 || orientation > 8)
    return pixels;
  const uint32_t width = pixels.width, height = pixels.height;
  const bool swapped = orientation > 4;
  Pixels result{swapped ? height : width, swapped ? width : height,
                std::vector<uint8_t>(pixels.rgb.size())};
  // Where the first pixel of the result lies, and how far the next of its row and column are.
  const int64_t pitch = int64_t(width) * 3;
  const bool fromRight =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool fromBottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int64_t alongX = fromRight ? -3 : 3, alongY = fromBottom ? -pitch : pitch;
  const int64_t nextColumn = swapped ? alongY : alongX, nextRow = swapped ? alongX : alongY;
  const uint8_t *origin = pixels.rgb.data() + (fromRight ? pitch - 3 : 0) +
                          (fromBottom ? pitch * (int64_t(height) - 1) : 0);
  // Blocks, for one of the two orders leaps from line to line of the cache.
  constexpr uint32_t block = 64;
  for (uint32_t top = 0; top < result.height; top += block)
    for (uint32_t left = 0; left < result.width; left += block)
      for (uint32_t y = top; y < std::min(result.height, top + block); ++y) {
        const uint8_t *from = origin + y * nextRow + left * nextColumn;
        uint8_t *to = result.rgb.data() + (size_t(y) * result.width + left) * 3;
        const uint32_t count = std::min(block, result.width - left);
        for (uint32_t x = 0; x < count; ++x, from += nextColumn, to += 3) {
          to[0] = from[0];
          to[1] = from[1];
          to[2] = from[2];
        }
      }
  return result;
}

} // namespace ingot::runtime::images
