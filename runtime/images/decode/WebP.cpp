// SPDX-License-Identifier: Apache-2.0
// WebP by libwebp; of an animation the first frame, on its canvas.
#include "runtime/images/decode/Formats.h"
#include "runtime/images/decode/Orientation.h"

#include <memory>
#include <webp/decode.h>
#include <webp/demux.h>

namespace ingot::runtime::images {
namespace {

constexpr const char *format = "WebP";

using Demuxer = std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)>;

Result<Demuxer> openFile(ByteSpan bytes) {
  const WebPData data{bytes.data(), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  Demuxer demuxer(WebPDemuxPartial(&data, &state), WebPDemuxDelete);
  if (state == WEBP_DEMUX_PARSE_ERROR)
    return damaged(format, "its chunks make no sense");
  if (!demuxer || state != WEBP_DEMUX_DONE)
    return truncated(format);
  return demuxer;
}

/// A chunk's bytes; none where there is no such chunk.
ByteSpan chunkOf(const WebPDemuxer *demuxer, const char *name) {
  WebPChunkIterator chunk;
  if (!WebPDemuxGetChunk(demuxer, name, 1, &chunk))
    return {};
  // They lie in the file, which outlives the iterator.
  const ByteSpan bytes{chunk.chunk.bytes, chunk.chunk.size};
  WebPDemuxReleaseChunkIterator(&chunk);
  return bytes;
}

} // namespace

Result<PictureHeader> readWebPHeader(ByteSpan bytes) {
  Result<Demuxer> file = openFile(bytes);
  if (!file.ok())
    return std::move(file).status();
  const WebPDemuxer *demuxer = file->get();
  PictureHeader header{PictureFormat::WebP, WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH),
                       WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT)};
  const uint32_t flags = WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS);
  if (flags & ANIMATION_FLAG)
    header.notes |= FirstFrame;
  if (flags & ALPHA_FLAG)
    header.notes |= AlphaDropped;
  header.orientation = exifOrientation(chunkOf(demuxer, "EXIF"));
  if (header.orientation == 0)
    header.orientation = xmpOrientation(chunkOf(demuxer, "XMP "));
  return header;
}

Status decodeWebP(ByteSpan bytes, Pixels &pixels) {
  Result<Demuxer> file = openFile(bytes);
  if (!file.ok())
    return std::move(file).status();
  WebPIterator frame;
  if (!WebPDemuxGetFrame(file->get(), 1, &frame))
    return damaged(format, "it has no frame");
  const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> release(
      &frame, WebPDemuxReleaseIterator);
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.width <= 0 || frame.height <= 0 ||
      uint64_t(frame.x_offset) + uint64_t(frame.width) > pixels.width ||
      uint64_t(frame.y_offset) + uint64_t(frame.height) > pixels.height)
    return damaged(format, "its frame lies outside its canvas");

  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    return damaged(format, "the library has another version");
  const size_t pitch = size_t(pixels.width) * 3;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba =
      pixels.rgb.data() + size_t(frame.y_offset) * pitch + size_t(frame.x_offset) * 3;
  config.output.u.RGBA.stride = int(pitch);
  config.output.u.RGBA.size = pitch * (size_t(frame.height) - 1) + size_t(frame.width) * 3;
  switch (WebPDecode(frame.fragment.bytes, frame.fragment.size, &config)) {
  case VP8_STATUS_OK:
    break;
  case VP8_STATUS_NOT_ENOUGH_DATA:
    return truncated(format);
  case VP8_STATUS_OUT_OF_MEMORY:
    return damaged(format, "there is no memory for it");
  default:
    return damaged(format, "its bit stream makes no sense");
  }
  if (config.input.width != frame.width || config.input.height != frame.height)
    return damaged(format, "it has two sizes");
  return Status::success();
}

} // namespace ingot::runtime::images
