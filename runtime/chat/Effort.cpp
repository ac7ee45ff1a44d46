// SPDX-License-Identifier: Apache-2.0
// Clients have one scale, and models parts of it: Qwen3.8 knows low, medium and xhigh alone.
#include "runtime/chat/Effort.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// The word that is taken in the place of the one at `asked`.
static std::string_view nearest(size_t asked, const TemplateTraits &traits) {
  size_t best = asked;
  for (size_t i = 0; i < effortScale.size(); ++i) {
    const auto distance = [&](size_t place) { return std::abs(int(place) - int(asked)); };
    if (!traits.refusesEffort[i] && (traits.refusesEffort[best] || distance(i) <= distance(best)))
      best = i;
  }
  return effortScale[best];
}

void tellEffort(nlohmann::ordered_json &variables, const std::string &effort,
                const TemplateTraits &traits) {
  if (effort.empty())
    return;
  if (traits.knowsSwitch && !variables.contains("enable_thinking"))
    variables["enable_thinking"] = effort != effortScale[0];
  const size_t asked = size_t(std::ranges::find(effortScale, effort) - effortScale.begin());
  if (asked == effortScale.size() || !traits.refusesEffort[asked])
    variables["reasoning_effort"] = effort;
  else if (asked > 0 || !traits.knowsSwitch)
    variables["reasoning_effort"] = nearest(asked, traits);
}

uint64_t mostThoughtOf(std::string_view effort) {
  constexpr std::array<uint64_t, 5> most = {0, 256, 1024, 4096, 16384};
  const size_t at = size_t(std::ranges::find(effortScale, effort) - effortScale.begin());
  return at < most.size() ? most[at] : UINT64_MAX;
}

} // namespace ingot::runtime
