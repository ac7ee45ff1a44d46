// SPDX-License-Identifier: Apache-2.0
// Pictures as the decoding process reads them: header, pixels, another size.
#include "runtime/images/decode/PictureFile.h"
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/images/SmallPictures.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::runtime::images;

std::vector<std::string> fuzz::seeds() {
  const Pixels pixels = test::slopes(21, 13);
  std::vector<std::string> files;
  for (const test::Bytes &bytes :
       {test::pngOf(pixels), test::pngOf(pixels, {{"eXIf", test::orientedExif(6)}}),
        test::pngOf(2, 2, 4, 3, {0, 0x12, 0, 0x01}, {{"PLTE", test::Bytes(9, 77)}}),
        test::pngOf(2, 1, 16, 0, {0, 1, 2, 3, 4}), test::jpegOf(pixels), test::jpegOf(pixels, true),
        test::smallWebP(), test::lossyWebP(), test::turnedWebP(), test::animatedWebP()})
    files.emplace_back(bytes.begin(), bytes.end());
  return files;
}

std::vector<std::string> fuzz::words() {
  return {"IHDR",
          "PLTE",
          "tRNS",
          "IDAT",
          "IEND",
          "eXIf",
          "iTXt",
          "acTL",
          "Exif",
          "Adobe",
          "VP8 ",
          "VP8L",
          "VP8X",
          "ALPH",
          "ANIM",
          "ANMF",
          "EXIF",
          "XMP ",
          "tiff:Orientation=\""};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PictureLimits limits;
  limits.pixels = 1 << 16;
  const std::span<const uint8_t> bytes(data, size);
  const Result<PictureHeader> header = readHeader(bytes, limits);
  fuzz::expectCode(header.status().code());
  if (!header.ok())
    return 0;
  EXPECT_LE(uint64_t(header->width) * header->height, limits.pixels);
  EXPECT_EQ(header->notes & ~uint32_t(allNotes), 0u);
  const Result<Pixels> pixels = decodePicture(bytes, *header);
  fuzz::expectCode(pixels.status().code());
  if (!pixels.ok())
    return 0;
  EXPECT_EQ(pixels->width, header->shownWidth());
  EXPECT_EQ(pixels->height, header->shownHeight());
  EXPECT_EQ(pixels->rgb.size(), size_t(pixels->width) * pixels->height * 3);
  EXPECT_EQ(resize(*pixels, 5, 7, Filter::Lanczos).rgb.size(), 5u * 7 * 3);
  return 0;
}
