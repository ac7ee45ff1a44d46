// SPDX-License-Identifier: Apache-2.0
// What the runtime and its decoding process say to each other: packets of a socket, each one of
// these structs, whose memory both share by descriptors that go with requests. Both are of one
// build, so that bytes are as the compiler lays them out.
#pragma once

#include "runtime/images/Picture.h"
#include "runtime/images/Rendering.h"

#include <cstdint>

namespace ingot::runtime::images {

inline constexpr uint32_t protocolMagic = 0x49674d31; ///< "IgM1"

enum class MessageKind : uint32_t {
  Ready, ///< the process has locked itself up
  Open,  ///< with the file: which picture is it?
  Render ///< with memory for the result: pixels, of the file that was opened
};

struct Request {
  uint32_t magic = protocolMagic;
  MessageKind kind = MessageKind::Open;
  uint64_t bytes = 0; ///< of the memory that goes with it
  PictureLimits limits;
  uint32_t scalingCount = 0, cropCount = 0;
  Scaling scalings[mostScalings];
  Crop crops[mostCrops];
};

/// Status of a process that needed more memory than it may take.
inline constexpr int outOfMemoryStatus = 12;
/// The error of `MessageKind::Ready` when the process could not lock itself up.
inline constexpr uint32_t lockingUpFailed = 7;

/// How a request ended.
struct Reply {
  uint32_t magic = protocolMagic;
  MessageKind kind = MessageKind::Ready;
  uint32_t error = 0; ///< 0: none; n: INGOT-E680n
  PictureFormat format = PictureFormat::Png;
  uint32_t width = 0, height = 0; ///< as it is seen
  uint32_t notes = 0;
  uint32_t last = 0;      ///< the process ends now, for it has computed for long
  uint64_t bytes = 0;     ///< that were written
  char message[256] = {}; ///< of an error
};

} // namespace ingot::runtime::images
