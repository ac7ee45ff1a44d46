// SPDX-License-Identifier: Apache-2.0
// Margins have one byte, results that nothing has written another.
#include "tests/gpu/LaunchImage.h"

#include <algorithm>

namespace ingot::record {

namespace {

constexpr uint64_t kMargin = 256;
constexpr uint8_t kMarginByte = 0xcb, kUnwrittenByte = 0xff;

void checkSurroundings(const LaunchT &launch, const Layout &layout, std::span<const uint8_t> image,
                       Outcome &outcome) {
  auto isOther = [](uint8_t wanted) { return [wanted](uint8_t byte) { return byte != wanted; }; };
  uint64_t from = 0;
  for (size_t i = 0; i <= layout.offsets.size(); ++i) {
    uint64_t to = i < layout.offsets.size() ? layout.offsets[i] : layout.bytes;
    if (std::ranges::any_of(image.subspan(from, to - from), isOther(kMarginByte)))
      outcome.error = "it writes beside a buffer";
    if (i < layout.offsets.size())
      from = to + layout.sizes[i];
  }
  if (layout.hasWorkspace(launch) &&
      std::ranges::any_of(image.subspan(layout.offsets.back(), launch.counter_bytes), isOther(0)))
    outcome.error = "it leaves counters of its workspace that are not zero";
}

} // namespace

Layout::Layout(const RecordT &record, const LaunchT &launch, bool withWorkspace) : bytes(kMargin) {
  for (const auto &buffer : launch.buffers)
    add(record.blobs[buffer->input != kNone ? buffer->input : buffer->output]->bytes.size());
  if (withWorkspace && launch.workspace_bytes >= 0)
    add(uint64_t(launch.workspace_bytes));
}

void Layout::add(uint64_t size) {
  offsets.push_back(bytes);
  sizes.push_back(size);
  bytes += (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment + kMargin;
}

void fillImage(const RecordT &record, const LaunchT &launch, const Layout &layout,
               std::span<uint8_t> image) {
  std::ranges::fill(image, kMarginByte);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    std::span<uint8_t> buffer = image.subspan(layout.offsets[i], layout.sizes[i]);
    uint32_t input = launch.buffers[i]->input;
    if (input == kNone)
      std::ranges::fill(buffer, kUnwrittenByte);
    else
      std::ranges::copy(record.blobs[input]->bytes, buffer.begin());
  }
  // What of a workspace is no counter has any content.
  if (layout.hasWorkspace(launch))
    std::ranges::fill(image.subspan(layout.offsets.back(), launch.counter_bytes), 0);
}

Outcome compareImage(const RecordT &record, const LaunchT &launch, const Layout &layout,
                     std::span<const uint8_t> image) {
  Outcome outcome;
  outcome.bitEqual = true;
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    compareBuffer(record, launch, i, image.subspan(layout.offsets[i], layout.sizes[i]), outcome);
  checkSurroundings(launch, layout, image, outcome);
  return outcome;
}

} // namespace ingot::record
