// SPDX-License-Identifier: Apache-2.0
// Names are of what the encoder will see: equal pixels of two files are one picture.
#include "runtime/serving/pictures/PictureReader.h"

#include "runtime/core/Sha256.h"

#include <cstring>

namespace ingot::runtime {

images::ImageSettings imageSettings(const schema::Images &images) {
  images::ImageSettings settings;
  settings.rule = images::SizeRule(images.rule());
  settings.filter = images::Filter(images.filter());
  settings.factor = images.factor();
  settings.minPixels = images.min_pixels();
  settings.maxPixels = images.max_pixels();
  settings.frames = images.frames();
  settings.width = images.width();
  settings.height = images.height();
  settings.maxTokens = images.max_tokens();
  settings.longestEdge = images.longest_edge();
  settings.tile = images.tile();
  for (uint32_t channel = 0; channel < settings.mean.size(); ++channel) {
    settings.mean[channel] = images.mean()->Get(channel);
    settings.std[channel] = images.deviation()->Get(channel);
  }
  settings.patch = images.patch();
  settings.mergeRows = images.merge_rows();
  settings.mergeColumns = images.merge_columns();
  settings.order = images::ValueOrder(images.order());
  settings.window = images.window();
  settings.positions = images::PositionRule(images.positions());
  settings.positionSide = images.position_side();
  return settings;
}

Status noPictures() {
  return Status::error("INGOT-E6814", "the engine takes no pictures",
                       "leave them out, or build the engine of a model with vision");
}

static BlockHash nameOf(Sha256 &sha) {
  const Digest digest = sha.finish();
  BlockHash name;
  std::memcpy(name.data(), digest.data(), sizeof name);
  return name;
}

static BlockHash nameOf(const std::vector<images::Pixels> &tiles) {
  Sha256 sha;
  for (const images::Pixels &tile : tiles) {
    const uint32_t size[] = {tile.width, tile.height};
    sha.update(size, sizeof size);
    sha.update(tile.rgb.data(), tile.rgb.size());
  }
  return nameOf(sha);
}

Result<std::shared_ptr<const PromptPicture>> PictureReader::read(std::span<const uint8_t> file) {
  Sha256 sha;
  sha.update(file.data(), file.size());
  const BlockHash name = nameOf(sha);
  {
    const std::lock_guard lock(mutex);
    if (std::shared_ptr<const PromptPicture> picture = kept.find(name))
      return picture;
  }
  Result<std::shared_ptr<const PromptPicture>> picture = decode(file);
  if (picture.ok()) {
    const std::lock_guard lock(mutex);
    kept.keep(name, *picture);
  }
  return picture;
}

Result<std::shared_ptr<const PromptPicture>> PictureReader::decode(std::span<const uint8_t> file) {
  auto picture = std::make_shared<PromptPicture>();
  picture->settings = settings;
  Result<images::DecodedPicture> decoded =
      decoder.decode(file, [&](const images::PictureFacts &facts) -> Result<images::Rendering> {
        Result<images::PictureLayout> layout = images::layOut(facts.width, facts.height, settings);
        if (!layout.ok())
          return std::move(layout).status();
        picture->layout = std::move(*layout);
        return picture->layout.rendering;
      });
  if (!decoded.ok())
    return std::move(decoded).status();
  picture->facts = decoded->facts;
  picture->tiles = std::move(decoded->crops);
  picture->name = nameOf(picture->tiles);
  return std::shared_ptr<const PromptPicture>(std::move(picture));
}

Result<std::shared_ptr<const PromptPicture>> PictureReader::readFrom(const std::string &source,
                                                                     PictureSources allowed) {
  Result<std::vector<uint8_t>> file =
      readPictureSource(source, allowed, images::PictureLimits().bytes);
  if (!file.ok())
    return std::move(file).status();
  return read(*file);
}

ReadPicture PictureReader::ofConversation(int64_t context) {
  // Decoded ones are large: a conversation of more than the context is refused before all are.
  return [this, context, tokens = uint64_t(0)](
             const std::string &source) mutable -> Result<std::shared_ptr<const PromptPicture>> {
    Result<std::shared_ptr<const PromptPicture>> picture = readFrom(source, PictureSources::Data);
    if (!picture.ok())
      return picture;
    tokens += (*picture)->tokens();
    if (tokens > uint64_t(context))
      return Status::error("INGOT-E6004",
                           "up to here pictures have " + std::to_string(tokens) +
                               " tokens, the context holds " + std::to_string(context),
                           "send fewer or smaller ones, or raise --max-context");
    return picture;
  };
}

} // namespace ingot::runtime
