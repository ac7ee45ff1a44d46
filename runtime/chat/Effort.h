// SPDX-License-Identifier: Apache-2.0
// Effort: what clients say of how much an answer is to be thought over, in a template's words.
#pragma once

#include "runtime/chat/TemplateTraits.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Adds `effort`, a word of `effortScale` or another, to a template's variables:
/// - where it knows the variable `enable_thinking`, which is not given, that is false for "none",
///   and true for all else: the thoughts of some models are off unless they are asked for;
/// - a word that it refuses becomes the nearest on the scale that it takes, the higher one of two
///   that are as near; "none" is left out where it refuses that and knows the switch.
/// An empty `effort` adds nothing.
void tellEffort(nlohmann::ordered_json &variables, const std::string &effort,
                const TemplateTraits &traits);

/// Tokens of thoughts where an effort is asked for that the template does not know: none for
/// "none", 256 for "minimal", then 1,024, 4,096 and 16,384 for "high". No limit for all other
/// words.
uint64_t mostThoughtOf(std::string_view effort);

} // namespace ingot::runtime
