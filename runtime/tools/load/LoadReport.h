// SPDX-License-Identifier: Apache-2.0
// What a load came to, for readers and for programs.
#pragma once

#include "runtime/tools/load/LoadStatistics.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// Prints counts, rates and a table of latencies in milliseconds.
void printLoad(const LoadSummary &summary, const ServiceLimits &limits, FILE *stream);

/// The same and every request as JSON, times in seconds. `subject`: what was measured, and how;
/// its members come first.
nlohmann::ordered_json jsonOfLoad(const nlohmann::ordered_json &subject, const LoadSummary &summary,
                                  std::span<const LoadRecord> records);

} // namespace ingot::runtime
