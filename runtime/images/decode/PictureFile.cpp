// SPDX-License-Identifier: Apache-2.0
// Tells formats by their first bytes, and holds sizes against limits before anything is decoded.
#include "runtime/images/decode/PictureFile.h"
#include "runtime/images/decode/Formats.h"
#include "runtime/images/decode/Orientation.h"

namespace ingot::runtime::images {
namespace {

using namespace std::string_view_literals;

bool isSvg(ByteSpan bytes) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                              std::min<size_t>(bytes.size(), 1024));
  const size_t begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  return begin != text.npos && text[begin] == '<' && text.find("<svg") != text.npos;
}

/// The name of a format that is known and not decoded; null: none of those.
const char *refusedFormat(ByteSpan bytes) {
  static constexpr struct {
    size_t at;
    std::string_view begins;
    const char *name;
  } formats[] = {{0, "GIF87a", "GIF"},         {0, "GIF89a", "GIF"},
                 {0, "II*\0"sv, "TIFF"},       {0, "MM\0*"sv, "TIFF"},
                 {0, "II+\0"sv, "TIFF"},       {0, "MM\0+"sv, "TIFF"},
                 {4, "ftypavif", "AVIF"},      {4, "ftypavis", "AVIF"},
                 {4, "ftyphei", "HEIC"},       {4, "ftyphev", "HEIC"},
                 {4, "ftypmif1", "HEIC"},      {4, "ftypmsf1", "HEIC"},
                 {4, "jP  \r\n", "JPEG 2000"}, {0, "\xff\x4f\xff\x51"sv, "JPEG 2000"},
                 {4, "JXL \r\n", "JPEG XL"},   {0, "\xff\x0a"sv, "JPEG XL"},
                 {0, "%PDF-", "PDF"},          {0, "\0\0\1\0"sv, "ICO"},
                 {0, "8BPS", "Photoshop"},     {0, "BM", "BMP"}};
  for (const auto &[at, begins, name] : formats)
    if (startsWith(bytes, begins, at))
      return name;
  return isSvg(bytes) ? "SVG" : nullptr;
}

Result<PictureHeader> readFormat(ByteSpan bytes) {
  if (startsWith(bytes, "\x89PNG\r\n\x1a\n"sv))
    return readPngHeader(bytes);
  if (startsWith(bytes, "\xff\xd8\xff"sv))
    return readJpegHeader(bytes);
  if (startsWith(bytes, "RIFF") && startsWith(bytes, "WEBP", 8))
    return readWebPHeader(bytes);
  const char *refused = refusedFormat(bytes);
  return Status::error("INGOT-E6801",
                       refused ? std::string(refused) + " pictures are not decoded"
                               : "these bytes are no picture that is known",
                       "send PNG, JPEG or WebP");
}

} // namespace

Result<PictureHeader> readHeader(ByteSpan bytes, const PictureLimits &limits) {
  if (bytes.size() > limits.bytes)
    return Status::error("INGOT-E6804",
                         "the picture has " + std::to_string(bytes.size()) + " bytes, of at most " +
                             std::to_string(limits.bytes),
                         "send a smaller one");
  Result<PictureHeader> header = readFormat(bytes);
  if (!header.ok())
    return header;
  const uint32_t width = header->width, height = header->height;
  const auto tooLarge = [&](std::string why) {
    return Status::error("INGOT-E6804",
                         std::string("the ") + formatName(header->format) + " picture is " +
                             std::to_string(width) + " x " + std::to_string(height) + " pixels" +
                             why,
                         "send a smaller one");
  };
  if (width == 0 || height == 0)
    return Status::error("INGOT-E6803", "the picture has no pixels", "save it anew");
  const uint32_t side = std::min(limits.side, longestSide);
  if (width > side || height > side)
    return tooLarge("; a side has at most " + std::to_string(side));
  if (uint64_t(width) * height > limits.pixels)
    return tooLarge(", of at most " + std::to_string(limits.pixels));
  if (header->orientation == 0)
    header->orientation = 1;
  if (header->orientation > 1)
    header->notes |= Turned;
  return header;
}

Result<Pixels> decodePicture(ByteSpan bytes, const PictureHeader &header) {
  Pixels pixels{header.width, header.height,
                std::vector<uint8_t>(size_t(header.width) * header.height * 3)};
  Status status;
  switch (header.format) {
  case PictureFormat::Png:
    status = decodePng(bytes, pixels);
    break;
  case PictureFormat::Jpeg:
    status = decodeJpeg(bytes, pixels);
    break;
  case PictureFormat::WebP:
    status = decodeWebP(bytes, pixels);
    break;
  }
  if (!status.ok())
    return status;
  return turned(std::move(pixels), header.orientation);
}

} // namespace ingot::runtime::images
