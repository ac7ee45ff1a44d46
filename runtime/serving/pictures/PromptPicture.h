// SPDX-License-Identifier: Apache-2.0
// A picture of a request, decoded and resized as the model wants it.
#pragma once

#include "runtime/images/Geometry.h"
#include "runtime/images/PictureDecoder.h"
#include "runtime/serving/BlockHash.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

struct PromptPicture {
  images::ImageSettings settings; ///< that it was made by
  images::PictureFacts facts;
  images::PictureLayout layout;
  std::vector<images::Pixels> tiles; ///< as layout.tiles
  BlockHash name = {};               ///< of the pixels

  uint64_t tokens() const { return layout.tokens(); }
  uint64_t bytes() const {
    uint64_t size = 0;
    for (const images::Pixels &tile : tiles)
      size += tile.rgb.size();
    return size;
  }
};

/// In the order of their places in a prompt.
using PromptPictures = std::vector<std::shared_ptr<const PromptPicture>>;

/// Makes a picture of what a message says of where it comes from.
using ReadPicture =
    std::function<Result<std::shared_ptr<const PromptPicture>>(const std::string &source)>;

} // namespace ingot::runtime
