// SPDX-License-Identifier: Apache-2.0
// By letters to insert, drop or change.
#include "runtime/core/NearestName.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ingot::runtime {

size_t lettersApart(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < one.size(); ++i) {
    size_t corner = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      size_t changed = corner + (one[i] != other[j]);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t longestName = 256;
  if (name.size() > longestName)
    return "";
  size_t least = name.size() / 3 + 1;
  const std::string *nearest = nullptr;
  for (const std::string &candidate : candidates)
    if (size_t letters = lettersApart(name, candidate); letters < least) {
      least = letters;
      nearest = &candidate;
    }
  return nearest ? " (did you mean '" + *nearest + "'?)" : "";
}

} // namespace ingot::runtime
