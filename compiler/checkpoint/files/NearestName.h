// SPDX-License-Identifier: Apache-2.0
// The spelling closest to a name that was not found, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// The candidate with the smallest edit distance to `name`, the first of equals; empty when none is
/// close enough to be what was meant (more than a third of the name would change).
std::string nearestName(std::string_view name, std::span<const std::string> candidates);

/// The candidate that shares the longest beginning with `name`, the first of equals; empty when
/// that is shorter than four letters. For names of families, whose ends tell what they are used
/// for.
std::string nearestByBeginning(std::string_view name, std::span<const std::string> candidates);

/// ` (did you mean "x"?)`, or nothing when no candidate is close.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace ingot::checkpoint
