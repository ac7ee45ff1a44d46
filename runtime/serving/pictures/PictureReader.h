// SPDX-License-Identifier: Apache-2.0
// From a picture's file to what a request carries of it.
#pragma once

#include "runtime/schema/Engine_generated.h"
#include "runtime/serving/pictures/LruCache.h"
#include "runtime/serving/pictures/PictureSource.h"
#include "runtime/serving/pictures/PromptPicture.h"

#include <mutex>

namespace ingot::runtime {

/// The numbers of an engine's table, which was verified when the engine was opened.
images::ImageSettings imageSettings(const schema::Images &images);

/// What is said to requests with pictures where an engine takes none: INGOT-E6814.
Status noPictures();

/// Any thread may call.
class PictureReader {
public:
  /// For an engine; null where it takes none (`images` is null).
  static std::unique_ptr<PictureReader> of(const schema::Images *images) {
    return images ? std::make_unique<PictureReader>(*images, images::PictureDecoder::Options())
                  : nullptr;
  }
  PictureReader(const schema::Images &images, images::PictureDecoder::Options options)
      : settings(imageSettings(images)), decoder(std::move(options)) {}

  /// PNG, JPEG or WebP; those read last are not decoded again, as a conversation comes with all
  /// of its pictures at each turn. INGOT-E6801 to E6809.
  Result<std::shared_ptr<const PromptPicture>> read(std::span<const uint8_t> file);
  /// The picture that a request names. Errors: readPictureSource, and those of `read`.
  Result<std::shared_ptr<const PromptPicture>> readFrom(const std::string &source,
                                                        PictureSources allowed);
  /// Reads the pictures of one conversation, which are in it. `context`: INGOT-E6004, they have
  /// more tokens. The reader must outlive it.
  ReadPicture ofConversation(int64_t context);

  /// Whether a picture is as this reader makes them.
  bool isAlike(const PromptPicture &picture) const { return picture.settings == settings; }

private:
  Result<std::shared_ptr<const PromptPicture>> decode(std::span<const uint8_t> file);

  const images::ImageSettings settings;
  images::PictureDecoder decoder;
  std::mutex mutex;
  LruCache<PromptPicture> kept{uint64_t(64) << 20}; ///< by their files
};

} // namespace ingot::runtime
