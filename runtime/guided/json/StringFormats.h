// SPDX-License-Identifier: Apache-2.0
// The texts of the formats of JSON Schema, by the RFCs that it names.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/Characters.h"

#include <string_view>

namespace ingot::runtime::guided {

/// The texts of a format, spelled so. Dates are of the calendar; leap
/// seconds are written in UTC. INGOT-E6611: the format is not known, or no regular language
/// (`regex`, `idn-hostname`).
Result<ExpressionId> formatTexts(ExpressionArena &arena, std::string_view format,
                                 Spelling spelling);

/// Whole numbers from `low` to `high`: formats of OpenAPI and of Rust's schemas.
struct WholeRange {
  std::string_view name, low, high;
};

/// Null where the format is none of whole numbers.
const WholeRange *wholeFormat(std::string_view format);

/// Formats that every text has, or every number: what they say is no matter of texts.
bool isAnnotation(std::string_view format);

} // namespace ingot::runtime::guided
