// SPDX-License-Identifier: Apache-2.0
// What pictures ask of the pieces of a prompt.
#include "runtime/serving/Sequence.h"

#include <algorithm>

namespace ingot::runtime {

const PictureRun *Sequence::unencoded() const {
  if (!pictures)
    return nullptr;
  std::span<const PictureRun> runs = pictures->runs();
  auto run = std::find_if(runs.begin(), runs.end(), [&](const PictureRun &one) {
    return one.end > computed && (encoded.empty() || !encoded[one.picture]);
  });
  return run == runs.end() ? nullptr : &*run;
}

int64_t Sequence::chunk(int64_t wanted) const {
  if (!pictures)
    return wanted;
  int64_t end = computed + wanted;
  if (const PictureRun *run = unencoded())
    end = std::min(end, std::max(run->begin, computed));
  if (pictures->seesAhead())
    if (const PictureRun *run = pictures->firstBehind(end); run && run->begin < end)
      end = std::max(run->begin, computed);
  return end - computed;
}

int64_t Sequence::leastChunk() const {
  if (!pictures || !pictures->seesAhead())
    return 1;
  const PictureRun *run = pictures->firstBehind(computed);
  return run && run->begin <= computed ? run->end - computed : 1;
}

} // namespace ingot::runtime
