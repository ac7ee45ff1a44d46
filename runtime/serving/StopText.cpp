// SPDX-License-Identifier: Apache-2.0
// The held text is never longer than the longest stop string, so plain searches stay cheap.
#include "runtime/serving/StopText.h"

#include <algorithm>

namespace ingot::runtime {

bool StopText::push(std::string_view piece, std::string &out) {
  held += piece;
  size_t found = std::string::npos;
  size_t kept = 0;
  for (const std::string &stop : stops) {
    found = std::min(found, held.find(stop));
    for (size_t length = std::min(stop.size() - 1, held.size()); length > kept; --length)
      if (std::string_view(held).substr(held.size() - length) ==
          std::string_view(stop).substr(0, length))
        kept = length;
  }
  if (found != std::string::npos) {
    out.append(held, 0, found);
    held.clear();
    return true;
  }
  out.append(held, 0, held.size() - kept);
  held.erase(0, held.size() - kept);
  return false;
}

void StopText::finish(std::string &out) {
  out += held;
  held.clear();
}

} // namespace ingot::runtime
