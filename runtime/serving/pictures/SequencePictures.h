// SPDX-License-Identifier: Apache-2.0
// Where pictures stand in a sequence, and what follows for its positions and for what its KV blocks
// are called.
#pragma once

#include "runtime/schema/Engine_generated.h"
#include "runtime/serving/pictures/PromptPicture.h"

#include <array>

namespace ingot::runtime {

/// Tokens [begin, end) of a sequence, which stand for rows `row` and those behind it of a picture.
struct PictureRun {
  int64_t begin = 0, end = 0;
  size_t picture = 0;
  int64_t row = 0;
};

class SequencePictures {
public:
  /// Of a prompt, in which a run of the engine's image token stands for each tile of `pictures`.
  /// INGOT-E6812: the prompt has other runs.
  static Result<std::shared_ptr<const SequencePictures>>
  place(std::span<const int32_t> prompt, PromptPictures pictures, const schema::Images &images);

  const PromptPictures &pictures() const { return all; }
  std::span<const PictureRun> runs() const { return places; }
  /// The first run that ends behind `position`; null where there is none.
  const PictureRun *firstBehind(int64_t position) const;
  /// What a step reads for the token `id` at `position`.
  int32_t tokenOfStep(int64_t position, int32_t id) const {
    return stepToken >= 0 && rowsIn(position, 1) > 0 ? stepToken : id;
  }
  /// How many of the tokens [first, first + count) stand for rows of pictures.
  int64_t rowsIn(int64_t first, int64_t count) const;

  /// Of a token of the prompt or behind it: its places in time, height and width.
  std::array<int32_t, 3> axes(int64_t position) const;
  /// The last position that a token attends to.
  int64_t reach(int64_t position) const;
  /// Whether tokens of a picture see those behind them, so that they are computed together.
  bool seesAhead() const { return ahead; }

  /// Appends what tells the tokens [first, end) from equal ones of other pictures.
  void describe(int64_t first, int64_t end, std::vector<uint64_t> &words) const;

private:
  void placeAxes(int64_t promptTokens);

  PromptPictures all;
  std::vector<PictureRun> places;
  std::vector<std::array<int32_t, 3>> promptAxes; ///< up to the last run's end
  int32_t delta = 0; ///< what tokens behind that are ahead of their index
  bool ahead = false;
  int32_t stepToken = -1; ///< in place of those of pictures; -1: they themselves
};

} // namespace ingot::runtime
