// SPDX-License-Identifier: Apache-2.0
// PNG by libpng, which is told to skip all that does not change pixels.
#include "runtime/images/decode/Formats.h"
#include "runtime/images/decode/Orientation.h"

#include <csetjmp>
#include <png.h>

namespace ingot::runtime::images {
namespace {

using namespace std::string_view_literals;

constexpr const char *format = "PNG";

/// What the functions that libpng calls share; libpng's errors jump.
struct Reader {
  ByteSpan rest;
  bool early = false; ///< the bytes ended
  char message[96] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void fail(png_structp png, png_const_charp message) {
  auto *reader = static_cast<Reader *>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep to, size_t count) {
  auto *reader = static_cast<Reader *>(png_get_io_ptr(png));
  if (count > reader->rest.size()) {
    reader->early = true;
    png_error(png, "it ends early");
  }
  std::memcpy(to, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

/// How a row that is read lies in the bytes of its RGB, at their end.
enum class Stored { Rgb, Indices, Wide };

struct Transform {
  Stored stored = Stored::Rgb;
  uint32_t samples = 3; ///< bytes of a pixel as it is read
};

Transform prepare(png_structp png, png_infop info) {
  const bool wide = png_get_bit_depth(png, info) == 16;
  switch (png_get_color_type(png, info)) {
  case PNG_COLOR_TYPE_PALETTE:
    png_set_packing(png);
    return {Stored::Indices, 1};
  case PNG_COLOR_TYPE_GRAY:
    if (wide)
      return {Stored::Wide, 2};
    png_set_expand_gray_1_2_4_to_8(png);
    break;
  default:
    break;
  }
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  return {};
}

/// Reads all rows; false after an error, with its text in `reader`. Nothing here has a destructor,
/// for an error jumps out of it.
bool readRows(Reader &reader, Pixels &pixels, png_bytepp rows, Transform &transform) {
  png_structp png = reader.png;
  png_infop info = reader.info;
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_set_read_fn(png, &reader, take);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(png, longestSide, longestSide);
  png_set_chunk_malloc_max(png, 1 << 20);
  png_read_info(png, info);
  if (png_get_image_width(png, info) != pixels.width ||
      png_get_image_height(png, info) != pixels.height)
    png_error(png, "it has two sizes");
  transform = prepare(png, info);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != size_t(pixels.width) * transform.samples)
    png_error(png, "its rows have another size than its header says");
  const size_t pitch = size_t(pixels.width) * 3;
  for (uint32_t y = 0; y < pixels.height; ++y)
    rows[y] = pixels.rgb.data() + y * pitch + size_t(pixels.width) * (3 - transform.samples);
  png_read_image(png, rows);
  png_read_end(png, info);
  return true;
}

/// RGB from what lies at the end of the same bytes; each pixel is read before it is written over.
void expandRow(uint8_t *row, uint32_t width, Stored stored, const uint8_t (&palette)[256][3]) {
  if (stored == Stored::Indices) {
    const uint8_t *indices = row + size_t(width) * 2;
    for (uint32_t x = 0; x < width; ++x)
      std::memcpy(row + size_t(x) * 3, palette[indices[x]], 3);
    return;
  }
  // Grey above 255 is white, as Pillow has it.
  const uint8_t *samples = row + width;
  for (uint32_t x = 0; x < width; ++x) {
    const uint8_t grey = samples[x * size_t(2)] ? 255 : samples[x * size_t(2) + 1];
    std::memset(row + size_t(x) * 3, grey, 3);
  }
}

} // namespace

Result<PictureHeader> readPngHeader(ByteSpan bytes) {
  if (bytes.size() < 33)
    return truncated(format);
  if (bigEndian32(&bytes[8]) != 13 || !startsWith(bytes, "IHDR", 12))
    return damaged(format, "it does not begin with IHDR");
  PictureHeader header{PictureFormat::Png, bigEndian32(&bytes[16]), bigEndian32(&bytes[20])};
  const uint8_t depth = bytes[24], colour = bytes[25];
  if (depth == 16)
    header.notes |= SixteenBits;
  if (colour & PNG_COLOR_MASK_ALPHA)
    header.notes |= AlphaDropped;

  uint32_t fromXmp = 0;
  header.orientation = 0;
  for (size_t at = 8;;) {
    if (bytes.size() - at < 12)
      return truncated(format);
    const size_t size = bigEndian32(&bytes[at]);
    if (size > 0x7fffffff)
      return damaged(format, "a chunk has no size");
    if (size > bytes.size() - at - 12)
      return truncated(format);
    const ByteSpan data = bytes.subspan(at + 8, size);
    const auto is = [&](std::string_view name) { return startsWith(bytes, name, at + 4); };
    constexpr auto xmp = "XML:com.adobe.xmp\0\0"sv; // the second byte: not compressed
    if (is("IEND"))
      break;
    if (is("tRNS"))
      header.notes |= AlphaDropped;
    else if (is("acTL"))
      header.notes |= FirstFrame;
    else if (is("eXIf") && header.orientation == 0)
      header.orientation = exifOrientation(data);
    else if (is("iTXt") && startsWith(data, xmp))
      fromXmp = xmpOrientation(data);
    at += 12 + size;
  }
  if (header.orientation == 0)
    header.orientation = fromXmp;
  return header;
}

Status decodePng(ByteSpan bytes, Pixels &pixels) {
  Reader reader{bytes};
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, ignore);
  reader.info = reader.png ? png_create_info_struct(reader.png) : nullptr;
  if (!reader.info)
    return damaged(format, "there is no memory for it");
  std::vector<png_bytep> rows(pixels.height);
  Transform transform;
  if (!readRows(reader, pixels, rows.data(), transform))
    return reader.early ? truncated(format) : damaged(format, reader.message);
  if (transform.stored == Stored::Rgb)
    return Status::success();

  uint8_t palette[256][3] = {}; // indices past the end are black
  png_colorp colours = nullptr;
  int count = 0;
  if (png_get_PLTE(reader.png, reader.info, &colours, &count))
    for (int i = 0; i < count && i < 256; ++i) {
      palette[i][0] = colours[i].red;
      palette[i][1] = colours[i].green;
      palette[i][2] = colours[i].blue;
    }
  for (uint32_t y = 0; y < pixels.height; ++y)
    expandRow(pixels.rgb.data() + size_t(y) * pixels.width * 3, pixels.width, transform.stored,
              palette);
  return Status::success();
}

} // namespace ingot::runtime::images
