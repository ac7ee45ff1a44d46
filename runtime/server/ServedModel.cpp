// SPDX-License-Identifier: Apache-2.0
// Pictures come in requests alone: nothing is fetched, and no file of the server is read.
#include "runtime/server/ServedModel.h"

#include "runtime/serving/pictures/PictureSource.h"

namespace ingot::runtime {

Dialogue::ReadPicture ServedModel::pictureReader() const {
  if (!pictures)
    return {};
  // Decoded ones are large: a conversation of more than the context is refused before all are.
  return [this, tokens = uint64_t(0)](
             const std::string &source) mutable -> Result<std::shared_ptr<const PromptPicture>> {
    Result<std::vector<uint8_t>> file =
        readPictureSource(source, PictureSources::Data, images::PictureLimits().bytes);
    if (!file.ok())
      return std::move(file).status();
    Result<std::shared_ptr<const PromptPicture>> picture = pictures->read(*file);
    if (!picture.ok())
      return picture;
    tokens += (*picture)->tokens();
    if (const int64_t most = loop->memoryPlan().maxContext; tokens > uint64_t(most))
      return Status::error("INGOT-E6004",
                           "up to here pictures have " + std::to_string(tokens) +
                               " tokens, the context holds " + std::to_string(most),
                           "send fewer or smaller ones, or raise --max-context");
    return picture;
  };
}

} // namespace ingot::runtime
