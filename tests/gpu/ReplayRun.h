// SPDX-License-Identifier: Apache-2.0
// A whole replay, in child processes: every launch alone, then graphs of those that passed.
#pragma once

#include "tests/gpu/ReplayReport.h"

namespace ingot::record {

struct ReplayOptions {
  double openLimit = 120, launchLimit = 30; ///< seconds, as of SupervisedItems
  bool timed = true;
  double warmUp = 0.05; ///< seconds of launches before the first one is timed
};

/// Takes a line as soon as it is there.
using TakeLine = std::function<void(const nlohmann::json &line)>;

/// Runs every launch of the record on devices that `open` opens in children of this process, which
/// must have neither threads nor a device. Launches that hang, kill their process or break their
/// device are failures like those that give wrong values. Returns the device's description; an
/// error of opening if it could never be opened.
runtime::Result<std::string> replayAll(const RecordT &record, const OpenDevice &open,
                                       const ReplayOptions &options, const TakeLine &take);

} // namespace ingot::record
