// SPDX-License-Identifier: Apache-2.0
// Small files of each format, for tests.
#pragma once

#include "runtime/images/Resize.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <zlib.h>

namespace ingot::test {

using Bytes = std::vector<uint8_t>;

/// Slopes and an edge; all values differ from their neighbours'.
inline runtime::images::Pixels slopes(uint32_t width, uint32_t height) {
  runtime::images::Pixels pixels{width, height, Bytes(size_t(width) * height * 3)};
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x) {
      uint8_t *at = pixels.rgb.data() + (size_t(y) * width + x) * 3;
      at[0] = uint8_t(x * 7 + y);
      at[1] = uint8_t(y * 5 + 3);
      at[2] = (x / 5 + y / 3) % 2 ? 250 : 11;
    }
  return pixels;
}

inline void append32(Bytes &bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(uint8_t(value >> shift));
}

inline void appendChunk(Bytes &png, const char *name, const Bytes &data) {
  append32(png, uint32_t(data.size()));
  const size_t begin = png.size();
  png.insert(png.end(), name, name + 4);
  png.insert(png.end(), data.begin(), data.end());
  append32(png, uint32_t(crc32(0, png.data() + begin, uInt(png.size() - begin))));
}

/// A PNG whose header says `width` x `height`, with these bytes of rows and chunks before them.
inline Bytes pngOf(uint32_t width, uint32_t height, uint8_t depth, uint8_t colour,
                   const Bytes &rows,
                   const std::vector<std::pair<const char *, Bytes>> &more = {}) {
  Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  append32(header, width);
  append32(header, height);
  header.insert(header.end(), {depth, colour, 0, 0, 0});
  appendChunk(png, "IHDR", header);
  for (const auto &[name, data] : more)
    appendChunk(png, name, data);
  uLongf size = compressBound(uLong(rows.size()));
  Bytes packed(size);
  compress(packed.data(), &size, rows.data(), uLong(rows.size()));
  packed.resize(size);
  appendChunk(png, "IDAT", packed);
  appendChunk(png, "IEND", {});
  return png;
}

inline Bytes pngOf(const runtime::images::Pixels &pixels,
                   const std::vector<std::pair<const char *, Bytes>> &more = {}) {
  Bytes rows;
  const size_t line = size_t(pixels.width) * 3;
  for (uint32_t y = 0; y < pixels.height; ++y) {
    rows.push_back(0);
    rows.insert(rows.end(), pixels.rgb.begin() + y * line, pixels.rgb.begin() + (y + 1) * line);
  }
  return pngOf(pixels.width, pixels.height, 8, 2, rows, more);
}

inline Bytes jpegOf(const runtime::images::Pixels &pixels, bool progressive = false) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char *made = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &made, &size);
  jpeg.image_width = pixels.width;
  jpeg.image_height = pixels.height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (progressive)
    jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (uint32_t y = 0; y < pixels.height; ++y) {
    auto *row = const_cast<JSAMPROW>(pixels.rgb.data() + size_t(y) * pixels.width * 3);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes bytes(made, made + size);
  std::free(made);
  return bytes;
}

inline Bytes fromHex(const std::string &digits) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(uint8_t(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// 3 x 2: red, green, blue; (1, 2, 3), (9, 8, 7), (200, 100, 50); lossless.
inline Bytes smallWebP() {
  return fromHex(
      "5249464648000000574542505650384c3b0000002f024000002fa0a06d1ba61fe5f8d3180d32699bd2ab"
      "fe0d4dda14a46dc074c7cdfcebdbfc07f84778c858751b28641b010edd2b704a17d1ff185e00");
}

inline Bytes lossyWebP() {
  return fromHex(
      "524946464600000057454250565038203a000000d001009d012a0300020002c04c25a80274010ef7813f"
      "c000feed2a78f6ca4f3e5caf09acb89e7d9dacbe7fd0f53f6c06c7aff9fb0763dae00000");
}

/// The first of these, lying on its side by EXIF's orientation 6.
inline Bytes turnedWebP() {
  return fromHex(
      "524946467c00000057454250565038580a000000080000000200000100005650384c3b0000002f024000"
      "002fa0a06d1ba61fe5f8d3180d32699bd2abfe0d4dda14a46dc074c7cdfcebdbfc07f84778c858751b28"
      "641b010edd2b704a17d1ff185e00455849461a00000049492a0008000000010012010300010000000600"
      "000000000000");
}

/// The first of these, then black.
inline Bytes animatedWebP() {
  return fromHex(
      "52494646ae00000057454250565038580a00000002000000020000010000414e494d0600000000000000"
      "0000414e4d4654000000000000000000020000010000000000025650384c3c0000002f024000002fa0a0"
      "6d14e85e54220dafd82093b669bf3a9afc5953108000a2def87fc325f31fe01fb236c5be6e03856c23c0"
      "a9dda3702217d1ff182f414e4d4626000000000000000000020000010000000000005650384c0e000000"
      "2f02400000071011fd0f4444ff03");
}

/// EXIF with an orientation.
inline Bytes orientedExif(uint8_t orientation) {
  return {'M', 'M', 0, '*', 0, 0,           0, 8, 0, 1, 1, 0x12, 0, 3,
          0,   0,   0, 1,   0, orientation, 0, 0, 0, 0, 0, 0,    0};
}

} // namespace ingot::test
