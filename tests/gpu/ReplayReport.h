// SPDX-License-Identifier: Apache-2.0
// What a replay says: a table by operation, the launches that differ, and JSON.
#pragma once

#include "tests/gpu/Replay.h"

#include <cstdio>
#include <string>

namespace ingot::record {

/// Launches of one operation, or all.
struct Tally {
  size_t launches = 0, bitEqual = 0, within = 0, failed = 0;
  double worst = 0; ///< as of Outcome

  void add(const Outcome &outcome);
};

/// All launches.
Tally total(const std::vector<Outcome> &outcomes);

/// The table, then a line for each launch that is not bit for bit as recorded.
void printReport(FILE *stream, const RecordT &record, const std::vector<Outcome> &outcomes);

/// The same as JSON, with `device` as its description.
std::string jsonReport(const RecordT &record, const std::vector<Outcome> &outcomes,
                       const std::string &device);

} // namespace ingot::record
