// SPDX-License-Identifier: Apache-2.0
// The first minutes with a driver: one thing after the other, each with what it gave.
#pragma once

#include "tests/gpu/Replay.h"

#include <nlohmann/json.hpp>

namespace ingot::record {

/// Opens a device, moves memory, launches the record's first launch alone and in a graph; prints a
/// line for each step as soon as it is done. Returns the facts: {"device", "driver",
/// "free_bytes", "copy_bytes_per_second", "launch_seconds"}. INGOT-E7032: a step went wrong, which
/// the error names.
runtime::Result<nlohmann::json> smokeTest(const RecordT &record, const OpenDevice &open);

} // namespace ingot::record
