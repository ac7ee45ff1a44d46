// SPDX-License-Identifier: Apache-2.0
// Traces of requests: when they came, and how long prompts and answers were.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

struct TraceRow {
  double seconds = 0; ///< after the first row
  int64_t promptTokens = 0, outputTokens = 0;
};

/// The rows of a CSV text with the columns TIMESTAMP, ContextTokens, GeneratedTokens, as Azure's
/// public traces have them: "2023-11-16 18:17:03.9799600,4808,10". Times do not decrease.
/// INGOT-E7241 names the first line that is something else; `name` is what messages call the file.
Result<std::vector<TraceRow>> parseTrace(const std::string &text, const std::string &name);

/// The same of a file. Also INGOT-E7101.
Result<std::vector<TraceRow>> readTrace(const std::string &path);

} // namespace ingot::runtime
