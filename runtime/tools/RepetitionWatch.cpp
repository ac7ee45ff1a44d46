// SPDX-License-Identifier: Apache-2.0
// Compares the end of an answer with itself, shifted.
#include "runtime/tools/RepetitionWatch.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace ingot::runtime {

constexpr size_t longestPassage = 128, timesMore = 3, leastTokens = 64;
/// Tokens between two looks.
constexpr size_t lookEvery = 16;

bool RepetitionWatch::add(int32_t token) {
  tokens.push_back(token);
  if (isSaid || tokens.size() % lookEvery != 0)
    return false;
  isSaid = repeats();
  return isSaid;
}

bool RepetitionWatch::repeats() const {
  for (size_t shift = 1; shift <= longestPassage; ++shift) {
    const size_t needed = std::max(timesMore * shift, leastTokens);
    if (needed + shift <= tokens.size() &&
        std::equal(tokens.end() - ptrdiff_t(needed), tokens.end(),
                   tokens.end() - ptrdiff_t(needed + shift)))
      return true;
  }
  return false;
}

void sayRepetition(const char *end) {
  if (isatty(STDERR_FILENO) == 1)
    std::fprintf(stderr, "\n\033[2m(this repeats itself; %s)\033[0m\n", end);
}

} // namespace ingot::runtime
