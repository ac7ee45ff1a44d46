// SPDX-License-Identifier: Apache-2.0
// Numbers as text and back, as int(), float() and the formats of Python have them.
#pragma once

#include "runtime/jinja/Value.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime::jinja {

/// int(text, base): signs, underscores, white space around it and, with base 0, prefixes. Nothing
/// where Python raises ValueError; a failure where the number has more than 64 bits.
std::optional<int64_t> parseInteger(std::string_view text, int64_t base = 10);

/// float(text).
std::optional<double> parseFloat(std::string_view text);

/// float(value), where Python has it.
std::optional<double> floatOf(const Value &value);

/// As printf's %f, %e, %g, %F, %E or %G with at most 1,000 digits.
std::string formatFloat(double value, char form, int precision);

/// `magnitude` in base 2, 8, 10 or 16.
std::string formatMagnitude(uint64_t magnitude, int base, bool isUpper = false);

} // namespace ingot::runtime::jinja
