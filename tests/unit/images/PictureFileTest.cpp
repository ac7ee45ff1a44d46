// SPDX-License-Identifier: Apache-2.0
// Small files of each format, whole, turned, cut and too large. tests/e2e/decoded_pictures.py has
// odd ones.
#include "runtime/images/decode/PictureFile.h"
#include "runtime/images/decode/Orientation.h"
#include "tests/unit/images/SmallPictures.h"

#include <gtest/gtest.h>

namespace ingot::runtime::images {
namespace {

using namespace test;

Result<Pixels> decode(const Bytes &bytes, const PictureLimits &limits = {}) {
  const Result<PictureHeader> header = readHeader(bytes, limits);
  if (!header.ok())
    return header.status();
  return decodePicture(bytes, *header);
}

std::string codeOf(const Bytes &bytes, const PictureLimits &limits = {}) {
  return std::string(decode(bytes, limits).status().code());
}

TEST(PictureFile, Png) {
  const Pixels pixels = slopes(13, 7);
  const Result<Pixels> decoded = decode(pngOf(pixels));
  ASSERT_TRUE(decoded.ok()) << decoded.status().toString();
  EXPECT_EQ(decoded->rgb, pixels.rgb);
}

TEST(PictureFile, Jpeg) {
  const Pixels pixels = slopes(64, 40);
  for (const bool progressive : {false, true}) {
    const Result<Pixels> decoded = decode(jpegOf(pixels, progressive));
    ASSERT_TRUE(decoded.ok()) << decoded.status().toString();
    EXPECT_EQ(decoded->width, 64u);
    EXPECT_EQ(decoded->height, 40u);
    EXPECT_NEAR(decoded->rgb[3 * (64 * 20 + 30) + 1], pixels.rgb[3 * (64 * 20 + 30) + 1], 30);
  }
}

TEST(PictureFile, WebP) {
  const Bytes colours = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 9, 8, 7, 200, 100, 50};
  Result<Pixels> decoded = decode(smallWebP());
  ASSERT_TRUE(decoded.ok()) << decoded.status().toString();
  EXPECT_EQ(decoded->rgb, colours);
  decoded = decode(animatedWebP());
  ASSERT_TRUE(decoded.ok()) << decoded.status().toString();
  EXPECT_EQ(decoded->rgb, colours);
  EXPECT_EQ(readHeader(animatedWebP(), {})->notes, uint32_t(FirstFrame));
  EXPECT_TRUE(decode(lossyWebP()).ok());
}

/// Where the pixel that is first when seen lies in the file, by EXIF's own table.
TEST(PictureFile, OrientationsOfExif) {
  const Pixels stored = slopes(3, 2);
  const auto at = [](const Pixels &pixels, uint32_t x, uint32_t y) {
    const uint8_t *pixel = pixels.rgb.data() + (y * pixels.width + x) * 3;
    return std::array<uint8_t, 3>{pixel[0], pixel[1], pixel[2]};
  };
  struct Corner {
    uint32_t x, y;
  };
  // Row 0 and column 0 as seen: top left, top right, bottom right, bottom left, left top, ...
  const Corner first[] = {{0, 0}, {2, 0}, {2, 1}, {0, 1}, {0, 0}, {0, 1}, {2, 1}, {2, 0}};
  const Corner right[] = {{1, 0}, {1, 0}, {1, 1}, {1, 1}, {0, 1}, {0, 0}, {2, 0}, {2, 1}};
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    const Result<Pixels> seen = decode(pngOf(stored, {{"eXIf", orientedExif(orientation)}}));
    ASSERT_TRUE(seen.ok()) << seen.status().toString();
    EXPECT_EQ(seen->width, orientation > 4 ? 2u : 3u);
    EXPECT_EQ(seen->height, orientation > 4 ? 3u : 2u);
    const auto [x, y] = first[orientation - 1];
    EXPECT_EQ(at(*seen, 0, 0), at(stored, x, y)) << int(orientation);
    const auto [nextX, nextY] = right[orientation - 1];
    EXPECT_EQ(at(*seen, 1, 0), at(stored, nextX, nextY)) << int(orientation);
  }
  const Result<Pixels> webp = decode(turnedWebP());
  ASSERT_TRUE(webp.ok());
  EXPECT_EQ(webp->rgb, (Bytes{1, 2, 3, 255, 0, 0, 9, 8, 7, 0, 255, 0, 200, 100, 50, 0, 0, 255}));
}

TEST(PictureFile, ExifThatMakesNoSenseIsNone) {
  const Bytes good = orientedExif(6);
  EXPECT_EQ(exifOrientation(good), 6u);
  EXPECT_EQ(exifOrientation(orientedExif(9)), 1u);
  for (size_t size = 0; size < 20; ++size)
    EXPECT_EQ(exifOrientation({good.data(), size}), 0u) << size;
  Bytes far = good;
  far[4] = 0xff;
  EXPECT_EQ(exifOrientation(far), 0u);
}

TEST(PictureFile, CutFilesAreErrors) {
  for (const Bytes &whole : {pngOf(slopes(13, 7)), jpegOf(slopes(40, 30)),
                             jpegOf(slopes(40, 30), true), smallWebP(), animatedWebP()}) {
    ASSERT_TRUE(decode(whole).ok());
    for (size_t size = 12; size < whole.size(); ++size) {
      const std::string code = codeOf({whole.begin(), whole.begin() + size});
      EXPECT_TRUE(code == "INGOT-E6802" || code == "INGOT-E6803")
          << code << ", " << size << " of " << whole.size() << " bytes";
    }
  }
}

TEST(PictureFile, DamageIsAnError) {
  Bytes png = pngOf(slopes(13, 7));
  png[png.size() - 20] ^= 1; // in the pixels
  EXPECT_EQ(codeOf(png), "INGOT-E6803");
  EXPECT_EQ(codeOf(pngOf(13, 7, 8, 2, Bytes(7 * 40 - 1))), "INGOT-E6803"); // a value is missing
  for (const bool progressive : {false, true}) {
    // It ends well, and half of it is not there: libjpeg would warn, and make it grey.
    Bytes jpeg = jpegOf(slopes(64, 64), progressive);
    jpeg.erase(jpeg.end() - (progressive ? 40 : 400), jpeg.end() - 2);
    EXPECT_EQ(codeOf(jpeg), "INGOT-E6803") << progressive;
  }
  EXPECT_EQ(codeOf(pngOf(0, 7, 8, 2, {})), "INGOT-E6803");
  EXPECT_EQ(codeOf(pngOf(4, 1, 7, 2, Bytes(13))), "INGOT-E6803"); // 7 bits
  EXPECT_EQ(codeOf(pngOf(4, 1, 8, 3, Bytes(5))), "INGOT-E6803");  // no palette
}

TEST(PictureFile, OtherFormatsAreNamed) {
  const Result<Pixels> gif = decode({'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0});
  EXPECT_EQ(gif.status().toString(),
            "INGOT-E6801: GIF pictures are not decoded; send PNG, JPEG or WebP");
  EXPECT_EQ(codeOf({}), "INGOT-E6801");
  EXPECT_EQ(codeOf({'h', 'e', 'l', 'l', 'o'}), "INGOT-E6801");
}

TEST(PictureFile, LimitsHoldBeforeAnythingIsAllocated) {
  const Bytes png = pngOf(slopes(13, 7));
  PictureLimits limits;
  limits.bytes = png.size() - 1;
  EXPECT_EQ(codeOf(png, limits), "INGOT-E6804");
  limits = {};
  limits.side = 12;
  EXPECT_EQ(codeOf(png, limits), "INGOT-E6804");
  limits = {};
  limits.pixels = 13 * 7 - 1;
  EXPECT_EQ(codeOf(png, limits), "INGOT-E6804");
  limits.pixels = 13 * 7;
  EXPECT_TRUE(decode(png, limits).ok());
  EXPECT_EQ(codeOf(pngOf(0x7fffffff, 0x7fffffff, 16, 6, {})), "INGOT-E6804");
}

/// A scan of no bits costs four bytes and a pass over all pixels.
TEST(PictureFile, EndlessScansAreAnError) {
  Bytes jpeg = jpegOf(slopes(32, 32), true);
  const auto scan = [&](size_t from) {
    for (size_t i = from; i + 1 < jpeg.size(); ++i)
      if (jpeg[i] == 0xff && jpeg[i + 1] == 0xda)
        return i;
    return jpeg.size();
  };
  size_t last = scan(0);
  for (size_t next = last; next < jpeg.size(); next = scan(next + 1))
    last = next;
  const Bytes one(jpeg.begin() + last, jpeg.end() - 2);
  for (int i = 0; i < 400; ++i)
    jpeg.insert(jpeg.end() - 2, one.begin(), one.end());
  EXPECT_EQ(codeOf(jpeg), "INGOT-E6803");
}

} // namespace
} // namespace ingot::runtime::images
