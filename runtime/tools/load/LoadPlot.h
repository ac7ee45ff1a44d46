// SPDX-License-Identifier: Apache-2.0
// A picture of the latencies of a load.
#pragma once

#include "runtime/tools/load/LoadRecord.h"

#include <span>
#include <string>

namespace ingot::runtime {

/// An SVG of two panels with one logarithmic axis of latencies: each share of the requests (or of
/// the gaps between tokens) and the latency that it stays below; and every answered request's time
/// to first token and whole time at the moment when it was due. `title` stands above.
std::string plotOfLoad(std::span<const LoadRecord> records, const std::string &title);

} // namespace ingot::runtime
