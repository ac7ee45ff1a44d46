// SPDX-License-Identifier: Apache-2.0
// The program "encode": turns pictures into rows.
#pragma once

#include "runtime/engine/Executor.h"
#include "runtime/images/Patches.h"
#include "runtime/serving/pictures/EncodedPicture.h"
#include "runtime/serving/pictures/PromptPicture.h"

namespace ingot::runtime {

class EncodeProgram {
public:
  /// Binds inputs and outputs by name. INGOT-E5022: an engine whose table of pictures is there, and
  /// its program "encode" or an input or output of it is not.
  static Result<EncodeProgram> bind(Executor &executor, const schema::Images &images);

  /// Rows of the largest run: what all tiles of a picture need is spread over several.
  int64_t maxRows() const { return mostRows; }
  /// INGOT-E6813: a tile of the picture needs more.
  Status fits(const PromptPicture &picture) const;

  /// Encodes pictures that fit, as many tiles at once as the largest run holds. INGOT-E6504.
  Result<std::vector<std::shared_ptr<const EncodedPicture>>>
  run(std::span<const std::shared_ptr<const PromptPicture>> pictures);

private:
  /// A tile on its way: which rows of which picture it gives.
  struct Job {
    size_t picture;
    int64_t row;
    const images::Tile *tile;
    const images::Pixels *pixels;
    images::PatchOrder order;

    int64_t windows() const {
      return order.windowOffsets.empty() ? 0 : int64_t(order.windowOffsets.size()) - 1;
    }
  };
  struct Input {
    uint32_t buffer;
    std::vector<std::byte> data;
  };

  EncodeProgram() = default;
  Status runTogether(std::span<const Job> jobs,
                     std::span<const std::shared_ptr<EncodedPicture>> encoded);
  template <class T> T *room(std::optional<Input> &input, int64_t count);

  Executor *executor = nullptr;
  images::ImageSettings settings;
  images::ValueTable values = {};
  uint32_t program = 0;
  int64_t mostRows = 0, mostTiles = 0, mostWindows = 0, hidden = 0;
  std::optional<Input> pixels, patchSequences, patchOffsets, windowSequences, windowOffsets,
      patchPlaces, positionRows, positionWeights;
  std::vector<uint32_t> outputs; ///< the rows, and what is added behind each of the first layers
};

} // namespace ingot::runtime
