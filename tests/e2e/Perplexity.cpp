// SPDX-License-Identifier: Apache-2.0
// Scores window after window through the public API.
#include "tests/e2e/Perplexity.h"

#include <cmath>

namespace ingot::e2e {

Windowing llamaCppWindowing(size_t length, size_t maxWindows) {
  Windowing windowing;
  windowing.length = length;
  windowing.firstScored = length / 2 + 1;
  windowing.start = WindowStart::BosInPlace;
  windowing.maxWindows = maxWindows;
  return windowing;
}

double perplexity(Engine &engine, std::span<const int32_t> tokens, const Windowing &windowing) {
  bool bosInFront = windowing.start == WindowStart::BosInFront;
  size_t taken = windowing.length - (bosInFront ? 1 : 0);
  double sum = 0;
  size_t scored = 0, windows = 0;
  for (size_t begin = 0; begin < tokens.size() && windows < windowing.maxWindows;
       begin += taken, ++windows) {
    std::span<const int32_t> part = tokens.subspan(begin, std::min(taken, tokens.size() - begin));
    if (part.size() < taken && !windowing.keepShortWindow)
      break;
    std::vector<int32_t> window(part.begin(), part.end());
    if (bosInFront)
      window.insert(window.begin(), engine.info().bos);
    else if (windowing.start == WindowStart::BosInPlace)
      window[0] = engine.info().bos;
    std::vector<float> logprobs = engine.score(window);
    for (size_t i = windowing.firstScored; i < window.size(); ++i, ++scored)
      sum -= logprobs[i];
  }
  return std::exp(sum / double(scored));
}

} // namespace ingot::e2e
