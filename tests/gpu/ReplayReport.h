// SPDX-License-Identifier: Apache-2.0
// What a replay says: a line of JSON for each launch and graph, and a table of all lines.
#pragma once

#include "tests/gpu/Replay.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ingot::record {

/// {"launch": index, "case", "operation", "kernel", "grid", "block", "shared_bytes", "scalars",
/// "verdict": "bit-equal", "within" or "failed", "worst", "seconds" or "untimed": why, "first":
/// {...}, "error"}.
nlohmann::json launchLine(const RecordT &record, size_t index, const Outcome &outcome);

/// {"graph": [first, last launch], "launches", "verdict": "bit-equal" or "failed", "error", and of
/// the first launch that differs: "launch", "case", "kernel", "before": the kernel before it,
/// "pass", "byte"}.
nlohmann::json graphLine(const RecordT &record, std::span<const size_t> launches,
                         const GraphOutcome &outcome);

/// Whether a line is of a failure.
bool isFailure(const nlohmann::json &line);

/// A table by operation, then a line of text for each launch that is not bit for bit as recorded
/// and for each graph that failed.
void printReport(FILE *stream, const std::vector<nlohmann::json> &lines);

/// The text of a failure or difference: "failed matmul_x 5 5: argument 3, element 7 is ...".
std::string textOf(const nlohmann::json &line);

} // namespace ingot::record
