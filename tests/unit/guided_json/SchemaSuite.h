// SPDX-License-Identifier: Apache-2.0
// Runs the published test suite of JSON Schema through grammars.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

struct SuiteCounts {
  int enforced = 0, refused = 0;
  std::map<std::string, int> refusals; ///< by message without its place
  std::vector<std::string> wrong;      ///< "file: schema: instance"
};

/// Of all files of a folder. A schema is enforced where every valid instance has a text that is
/// accepted (its members in one order or another, whole numbers without a point) and no invalid one
/// has.
SuiteCounts runSuite(const std::filesystem::path &folder);

/// The texts of a value with its members in every order, 5,000 at most.
std::vector<std::string> textsOf(const nlohmann::ordered_json &value);

} // namespace ingot::runtime::guided
