// SPDX-License-Identifier: Apache-2.0
// Edit distance over short names.
#include "compiler/checkpoint/files/NearestName.h"

#include "compiler/checkpoint/files/Error.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ingot::checkpoint {

/// The edit distance of `a` and `b`, or `limit` once it is certain to be at least that.
static size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference >= limit)
    return limit;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    size_t smallest = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
      smallest = std::min(smallest, row[j]);
    }
    if (smallest >= limit)
      return limit;
  }
  return std::min(row.back(), limit);
}

std::string nearestName(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t longestName = 256, mostCandidates = 100000;
  if (name.size() > longestName)
    return "";
  size_t best = name.size() / 3 + 1;
  std::string_view nearest;
  for (const std::string &candidate :
       candidates.first(std::min(candidates.size(), mostCandidates))) {
    size_t distance = editDistance(name, candidate, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::string nearestByBeginning(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t least = 4;
  size_t best = least - 1;
  std::string_view nearest;
  for (const std::string &candidate : candidates) {
    const auto ends = std::mismatch(name.begin(), name.end(), candidate.begin(), candidate.end());
    const auto shared = static_cast<size_t>(ends.first - name.begin());
    if (shared > best) {
      best = shared;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  std::string nearest = nearestName(name, candidates);
  return nearest.empty() ? "" : message(" (did you mean ", inQuotes(nearest), "?)");
}

} // namespace ingot::checkpoint
