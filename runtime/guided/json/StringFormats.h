// SPDX-License-Identifier: Apache-2.0
// The texts of the formats of JSON Schema, by the RFCs that it names.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/Expression.h"

#include <string_view>

namespace ingot::runtime::guided {

/// The texts of a format, as between the quotes of a JSON string. Dates are of the calendar; leap
/// seconds are written in UTC. INGOT-E6611: the format is not known, or no regular language
/// (`regex`, `idn-hostname`).
Result<ExpressionId> formatTexts(ExpressionArena &arena, std::string_view format);

/// Formats that bind numbers and not strings, or nothing that JSON can hold otherwise.
bool isNumericFormat(std::string_view format);

} // namespace ingot::runtime::guided
