// SPDX-License-Identifier: Apache-2.0
// What was meant by a name that does not exist, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// How many letters have to be inserted, dropped or changed.
size_t lettersApart(std::string_view one, std::string_view other);

/// ` (did you mean 'x'?)` of the candidate to which the fewest letters of `name` change, the first
/// of equals; empty where that is more than a third of them.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace ingot::runtime
