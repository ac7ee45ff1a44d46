// SPDX-License-Identifier: Apache-2.0
// The held text is never longer than the longest stop string, so plain searches stay cheap.
#include "runtime/serving/StopText.h"

#include <algorithm>

namespace ingot::runtime {

bool StopText::push(std::string_view piece, std::string &out, bool searched) {
  held += piece;
  if (!searched)
    passed = held.size();
  size_t found = std::string::npos, end = 0;
  size_t kept = 0;
  for (const std::string &stop : stops) {
    size_t at = held.find(stop, passed < stop.size() ? 0 : passed - stop.size() + 1);
    if (at < found || (at == found && at + stop.size() < end)) {
      found = at;
      end = at + stop.size();
      match = stop;
    }
    for (size_t length = std::min(stop.size() - 1, held.size()); length > kept; --length)
      if (std::string_view(held).substr(held.size() - length) ==
          std::string_view(stop).substr(0, length))
        kept = length;
  }
  if (found != std::string::npos) {
    out.append(held, 0, included ? end : found);
    held.clear();
    return true;
  }
  size_t certain = held.size() - kept;
  out.append(held, 0, certain);
  held.erase(0, certain);
  passed -= std::min(passed, certain);
  return false;
}

void StopText::finish(std::string &out) {
  out += held;
  held.clear();
}

} // namespace ingot::runtime
