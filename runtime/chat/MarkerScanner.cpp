// SPDX-License-Identifier: Apache-2.0
// Each step looks at no more than the held bytes, so time is bounded by the markers' lengths.
#include "runtime/chat/MarkerScanner.h"

namespace ingot::runtime {

MarkerScanner::Result MarkerScanner::step(std::span<const std::string_view> markers, bool isEnd) {
  if (held.empty())
    return Result::Wait;
  size_t longest = 0;
  for (size_t i = 0; i < markers.size(); ++i) {
    if (!isEnd && markers[i].size() > held.size() && markers[i].starts_with(held))
      return Result::Wait;
    if (markers[i].size() > longest && std::string_view(held).starts_with(markers[i])) {
      longest = markers[i].size();
      marker = i;
    }
  }
  if (longest > 0) {
    held.erase(0, longest);
    return Result::Found;
  }
  byte = held[0];
  held.erase(0, 1);
  return Result::Release;
}

} // namespace ingot::runtime
