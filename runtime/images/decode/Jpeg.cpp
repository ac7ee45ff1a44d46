// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo. What it would only warn of, and fill with grey, is an error here.
#include "runtime/images/decode/Formats.h"
#include "runtime/images/decode/Orientation.h"

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace ingot::runtime::images {
namespace {

using namespace std::string_view_literals;

constexpr const char *format = "JPEG";
/// Progressive files of a few bytes can ask for thousands of passes over all pixels.
constexpr int mostScans = 200;

/// What the functions that libjpeg calls share; libjpeg's errors jump.
struct Reader {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  jmp_buf jump;
  bool early;
  char message[JMSG_LENGTH_MAX];
};

Reader &readerOf(j_common_ptr jpeg) { return *static_cast<Reader *>(jpeg->client_data); }

[[noreturn]] void fail(j_common_ptr jpeg) {
  Reader &reader = readerOf(jpeg);
  reader.errors.format_message(jpeg, reader.message);
  std::longjmp(reader.jump, 1);
}

/// Warnings of what changes no pixel are let pass; level -1 is a warning, others are traces.
void warn(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
      code != JWRN_JFIF_MAJOR && code != JWRN_BOGUS_PROGRESSION)
    fail(jpeg);
}

void silent(j_common_ptr) {}
void nothing(j_decompress_ptr) {}

boolean endEarly(j_decompress_ptr jpeg) {
  readerOf(reinterpret_cast<j_common_ptr>(jpeg)).early = true;
  ERREXIT(jpeg, JERR_INPUT_EOF);
  return FALSE;
}

void skip(j_decompress_ptr jpeg, long count) {
  jpeg_source_mgr &source = *jpeg->src;
  if (count <= 0)
    return;
  if (size_t(count) > source.bytes_in_buffer)
    endEarly(jpeg);
  source.next_input_byte += count;
  source.bytes_in_buffer -= size_t(count);
}

void countScans(j_common_ptr common) {
  auto *jpeg = reinterpret_cast<j_decompress_ptr>(common);
  if (jpeg->input_scan_number > mostScans)
    ERREXIT(common, JERR_BAD_PROGRESSION);
}

void start(Reader &reader, ByteSpan bytes) {
  reader = {};
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.jpeg.client_data = &reader;
  reader.errors.error_exit = fail;
  reader.errors.emit_message = warn;
  reader.errors.output_message = silent;
  reader.source = {bytes.data(), bytes.size(),           nothing, endEarly,
                   skip,         jpeg_resync_to_restart, nothing};
}

Status failure(const Reader &reader) {
  return reader.early ? truncated(format) : damaged(format, reader.message);
}

/// Reads the tables and sizes. False after an error.
bool readSizes(Reader &reader) {
  if (setjmp(reader.jump))
    return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.client_data = &reader;
  reader.jpeg.src = &reader.source;
  jpeg_read_header(&reader.jpeg, TRUE);
  return true;
}

uint8_t product255(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return uint8_t(((product >> 8) + product) >> 8);
}

/// Inks, which files have inverted, as Adobe does, to RGB as Pillow does.
void convertInks(const uint8_t *inks, uint8_t *rgb, uint32_t width) {
  for (uint32_t x = 0; x < width; ++x, inks += 4, rgb += 3)
    for (int i = 0; i < 3; ++i)
      rgb[i] = uint8_t(inks[3] - product255(255u - inks[i], inks[3]));
}

/// Reads all rows. Nothing here has a destructor, for an error jumps out of it.
bool readRows(Reader &reader, Pixels &pixels, uint8_t *inks) {
  if (setjmp(reader.jump))
    return false;
  jpeg_decompress_struct &jpeg = reader.jpeg;
  if (jpeg.image_width != pixels.width || jpeg.image_height != pixels.height)
    ERREXIT(&jpeg, JERR_EMPTY_IMAGE);
  jpeg.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  reader.progress.progress_monitor = countScans;
  jpeg.progress = &reader.progress;
  jpeg_start_decompress(&jpeg);
  if (jpeg.output_width != pixels.width || jpeg.output_height != pixels.height ||
      jpeg.output_components != (inks ? 4 : 3))
    ERREXIT(&jpeg, JERR_EMPTY_IMAGE);
  while (jpeg.output_scanline < jpeg.output_height) {
    uint8_t *rgb = pixels.rgb.data() + size_t(jpeg.output_scanline) * pixels.width * 3;
    JSAMPROW row = inks ? inks : rgb;
    jpeg_read_scanlines(&jpeg, &row, 1);
    if (inks)
      convertInks(inks, rgb, pixels.width);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

/// Orientation from the segments before the first scan.
uint32_t orientationOf(ByteSpan bytes) {
  uint32_t fromExif = 0, fromXmp = 0;
  for (size_t at = 2; bytes.size() - at >= 4;) {
    if (bytes[at] != 0xff)
      break;
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xff) { // fill
      ++at;
      continue;
    }
    if (marker == 0xda || marker == 0xd9)
      break;
    const size_t size = bigEndian16(&bytes[at + 2]);
    if (size < 2 || size > bytes.size() - at - 2)
      break;
    const ByteSpan data = bytes.subspan(at + 4, size - 2);
    constexpr auto xmp = "http:"
                         "//ns.adobe.com/xap/1.0/\0"sv;
    if (marker == 0xe1 && fromExif == 0 && startsWith(data, "Exif\0"sv))
      fromExif = exifOrientation(data);
    else if (marker == 0xe1 && fromXmp == 0 && startsWith(data, xmp))
      fromXmp = xmpOrientation(data);
    at += 2 + size;
  }
  return fromExif ? fromExif : fromXmp;
}

} // namespace

Result<PictureHeader> readJpegHeader(ByteSpan bytes) {
  Reader reader;
  start(reader, bytes);
  const bool read = readSizes(reader);
  const PictureHeader header{PictureFormat::Jpeg, reader.jpeg.image_width, reader.jpeg.image_height,
                             orientationOf(bytes),
                             reader.jpeg.num_components == 4 ? uint32_t(ConvertedInks) : 0};
  const int components = reader.jpeg.num_components, bits = reader.jpeg.data_precision;
  jpeg_destroy_decompress(&reader.jpeg);
  if (!read)
    return failure(reader);
  if (bits != 8)
    return damaged(format, "it has " + std::to_string(bits) + " bits a sample, not 8");
  if (components != 1 && components != 3 && components != 4)
    return damaged(format, "it has " + std::to_string(components) + " components");
  return header;
}

Status decodeJpeg(ByteSpan bytes, Pixels &pixels) {
  Reader reader;
  start(reader, bytes);
  std::vector<uint8_t> inks;
  bool read = readSizes(reader);
  if (read) {
    if (reader.jpeg.num_components == 4)
      inks.resize(size_t(pixels.width) * 4);
    read = readRows(reader, pixels, inks.empty() ? nullptr : inks.data());
  }
  jpeg_destroy_decompress(&reader.jpeg);
  return read ? Status::success() : failure(reader);
}

} // namespace ingot::runtime::images
