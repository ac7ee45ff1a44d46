// SPDX-License-Identifier: Apache-2.0
// Decodes pictures that come from anywhere, in a process that can do nothing else.
#pragma once

#include "runtime/images/PictureProcess.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ingot::runtime::images {

struct PictureFacts {
  PictureFormat format = PictureFormat::Png;
  uint32_t width = 0, height = 0; ///< as it is seen
  uint32_t notes = 0;             ///< of PictureNote
};

struct DecodedPicture {
  PictureFacts facts;
  std::vector<Pixels> crops; ///< one for each crop of the rendering
};

/// `ingot-images` beside the running program, or beside the library that this code is in, or where
/// its package has programs.
std::string imagesProgram();

/// Starts the process when it is first needed, and anew when it died. What a picture does to it is
/// that picture's error; the next one has a new process. Any thread may call; pictures wait for
/// each other.
class PictureDecoder {
public:
  struct Options {
    std::string program = imagesProgram();
    PictureLimits limits;
    uint64_t memory = 0; ///< bytes that the process may take; 0: what the limits can need
    std::chrono::milliseconds startTime{10000}, pictureTime{20000};
  };

  /// What to make of a picture of this size. Other pictures wait meanwhile.
  using Choose = std::function<Result<Rendering>(const PictureFacts &)>;

  PictureDecoder() : PictureDecoder(Options()) {}
  explicit PictureDecoder(Options options);

  /// INGOT-E6801 to E6804: what is wrong with the picture; E6807 to E6809: with the process; or the
  /// error of `choose`.
  Result<DecodedPicture> decode(std::span<const uint8_t> bytes, const Choose &choose);

  /// What the header says; pixels are not decoded, so that damage may not be found.
  Result<PictureFacts> open(std::span<const uint8_t> bytes);

  /// Of the process; 0: there is none.
  pid_t processId();

private:
  Result<PictureFacts> openLocked(std::span<const uint8_t> bytes);
  Status refuseReply();
  Result<DecodedPicture> renderLocked(const PictureFacts &facts, const Rendering &rendering);

  const Options options;
  std::mutex mutex;
  PictureProcess process;
};

} // namespace ingot::runtime::images
