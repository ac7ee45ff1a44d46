// SPDX-License-Identifier: Apache-2.0
// A picture of a request, decoded and resized as the model wants it.
#pragma once

#include "runtime/images/Geometry.h"
#include "runtime/images/PictureDecoder.h"
#include "runtime/serving/BlockHash.h"

#include <memory>
#include <vector>

namespace ingot::runtime {

struct PromptPicture {
  images::PictureFacts facts;
  images::PictureLayout layout;
  std::vector<images::Pixels> tiles; ///< as layout.tiles
  BlockHash name = {};               ///< of the pixels

  uint64_t tokens() const { return layout.tokens(); }
};

/// In the order of their places in a prompt.
using PromptPictures = std::vector<std::shared_ptr<const PromptPicture>>;

} // namespace ingot::runtime
