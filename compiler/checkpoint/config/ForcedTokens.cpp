// SPDX-License-Identifier: Apache-2.0
// Requests say which tokens may not come; files are not read for it.
#include "compiler/checkpoint/config/ForcedTokens.h"

#include "compiler/checkpoint/files/JsonFields.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

void tellForcedTokens(const Json &root, std::string_view key, std::string_view file,
                      std::vector<Deviation> &deviations) {
  const auto value = root.find(key);
  if (!value || JsonFields(root).isOff(key))
    return;
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  deviations.push_back({message(file, " ", key),
                        printable(value->raw().dump(-1, ' ', false, replace)), "not read",
                        "requests say which tokens may not come", /*isTold=*/true});
}

} // namespace ingot::checkpoint
