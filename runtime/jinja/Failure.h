// SPDX-License-Identifier: Apache-2.0
// Failure: what ends a compilation or a render. It stays inside this folder.
#pragma once

#include <string>
#include <string_view>

namespace ingot::runtime::jinja {

/// Thrown where an error is met, caught by Template, which adds where in the template it was and
/// returns a Status. The nesting of an interpreter makes a returned error cost at every level.
struct Failure {
  std::string_view code; ///< INGOT-E60nn
  std::string what;
  std::string_view fix = {};
};

constexpr std::string_view syntaxCode = "INGOT-E6060";
constexpr std::string_view refusedTagCode = "INGOT-E6061";
constexpr std::string_view tooDeepCode = "INGOT-E6062";
constexpr std::string_view undefinedCode = "INGOT-E6063";
constexpr std::string_view operationCode = "INGOT-E6064";
constexpr std::string_view raisedCode = "INGOT-E6065";
constexpr std::string_view stepLimitCode = "INGOT-E6066";
constexpr std::string_view memoryLimitCode = "INGOT-E6067";
constexpr std::string_view unknownNameCode = "INGOT-E6068";
constexpr std::string_view securityCode = "INGOT-E6069";

/// An operation that the values do not have, or a value that is out of place.
[[noreturn]] inline void fail(std::string what) {
  throw Failure{operationCode, std::move(what), "correct the template, or what it is given"};
}

} // namespace ingot::runtime::jinja
