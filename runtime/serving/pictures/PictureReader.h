// SPDX-License-Identifier: Apache-2.0
// From a picture's file to what a request carries of it.
#pragma once

#include "runtime/schema/Engine_generated.h"
#include "runtime/serving/pictures/PromptPicture.h"

namespace ingot::runtime {

/// The numbers of an engine's table, which was verified when the engine was opened.
images::ImageSettings imageSettings(const schema::Images &images);

/// What is said to requests with pictures where an engine takes none: INGOT-E6814.
Status noPictures();

/// Any thread may call.
class PictureReader {
public:
  PictureReader(const schema::Images &images, images::PictureDecoder::Options options)
      : settings(imageSettings(images)), decoder(std::move(options)) {}

  /// PNG, JPEG or WebP. INGOT-E6801 to E6809.
  Result<std::shared_ptr<const PromptPicture>> read(std::span<const uint8_t> file);

private:
  const images::ImageSettings settings;
  images::PictureDecoder decoder;
};

} // namespace ingot::runtime
