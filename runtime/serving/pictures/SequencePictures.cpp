// SPDX-License-Identifier: Apache-2.0
// Positions of three axes are those of M-RoPE (Qwen2-VL, arXiv 2409.12191, section 2.1): a
// picture's tokens keep its first position in time and count rows and columns from it, and text
// goes on behind the larger of both.
#include "runtime/serving/pictures/SequencePictures.h"

#include <algorithm>
#include <string>

namespace ingot::runtime {

Result<std::shared_ptr<const SequencePictures>>
SequencePictures::place(std::span<const int32_t> prompt, PromptPictures pictures,
                        const schema::Images &images) {
  auto result = std::make_shared<SequencePictures>();
  auto token = int32_t(images.token_id());
  auto at = prompt.begin();
  for (size_t picture = 0; picture < pictures.size(); ++picture) {
    int64_t row = 0;
    for (const images::Tile &tile : pictures[picture]->layout.tiles) {
      at = std::find(at, prompt.end(), token);
      auto length = int64_t(tile.tokens());
      auto end = prompt.end() - at < length
                     ? prompt.end()
                     : std::find_if(at, at + length, [&](int32_t id) { return id != token; });
      if (end - at != length)
        return Status::error("INGOT-E6812",
                             "the tokens of picture " + std::to_string(picture + 1) +
                                 " are not those that the engine has for it",
                             "report this as an error of Ingot");
      int64_t begin = at - prompt.begin();
      result->places.push_back({begin, begin + length, picture, row});
      row += length;
      at = end;
    }
  }
  if (std::find(at, prompt.end(), token) != prompt.end())
    return Status::error("INGOT-E6812", "the prompt has tokens of pictures that are not given",
                         "leave them out of the prompt");
  result->all = std::move(pictures);
  result->ahead = images.sees_ahead();
  result->stepToken = images.step_token();
  result->placeAxes(int64_t(prompt.size()));
  return std::shared_ptr<const SequencePictures>(std::move(result));
}

void SequencePictures::placeAxes(int64_t promptTokens) {
  int32_t next = 0;
  auto run = places.begin();
  for (int64_t position = 0; position < promptTokens && run != places.end();) {
    if (position < run->begin) {
      promptAxes.push_back({next, next, next});
      ++next;
      ++position;
      continue;
    }
    // The tile of a run is known by its row.
    int64_t row = 0;
    for (const images::Tile &tile : all[run->picture]->layout.tiles) {
      if (row == run->row) {
        for (uint32_t y = 0; y < tile.tokenRows; ++y)
          for (uint32_t x = 0; x < tile.tokenColumns; ++x)
            promptAxes.push_back({next, next + int32_t(y), next + int32_t(x)});
        next += int32_t(std::max(tile.tokenRows, tile.tokenColumns));
      }
      row += int64_t(tile.tokens());
    }
    position = run->end;
    ++run;
  }
  delta = next - int32_t(promptAxes.size());
}

const PictureRun *SequencePictures::firstBehind(int64_t position) const {
  auto run = std::upper_bound(places.begin(), places.end(), position,
                              [](int64_t at, const PictureRun &one) { return at < one.end; });
  return run == places.end() ? nullptr : &*run;
}

int64_t SequencePictures::rowsIn(int64_t first, int64_t count) const {
  int64_t rows = 0;
  for (const PictureRun &run : places)
    rows += std::max<int64_t>(0, std::min(run.end, first + count) - std::max(run.begin, first));
  return rows;
}

std::array<int32_t, 3> SequencePictures::axes(int64_t position) const {
  if (position < int64_t(promptAxes.size()))
    return promptAxes[size_t(position)];
  auto place = int32_t(position) + delta;
  return {place, place, place};
}

int64_t SequencePictures::reach(int64_t position) const {
  const PictureRun *run = ahead ? firstBehind(position) : nullptr;
  return run && run->begin <= position ? run->end - 1 : position;
}

void SequencePictures::describe(int64_t first, int64_t end, std::vector<uint64_t> &words) const {
  for (const PictureRun *run = firstBehind(first);
       run && run != places.data() + places.size() && run->begin < end; ++run) {
    const BlockHash &name = all[run->picture]->name;
    words.insert(words.end(), name.begin(), name.end());
    // Where the block is in the picture, and the picture in the block.
    words.push_back(uint64_t(run->row + std::max<int64_t>(0, first - run->begin)));
    words.push_back(uint64_t(std::max<int64_t>(0, run->begin - first)));
  }
}

} // namespace ingot::runtime
