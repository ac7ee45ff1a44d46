// SPDX-License-Identifier: Apache-2.0
// A load on a session of this process.
#pragma once

#include "runtime/serving/Session.h"
#include "runtime/tools/load/LoadProgress.h"
#include "runtime/tools/load/Pacing.h"
#include "runtime/tools/load/Workload.h"

namespace ingot::runtime {

/// Makes every request of `workload` on the calling thread, which also runs the steps. Records are
/// in the order in which requests ended; what fails is in its record. `seconds` becomes the time
/// from the start until the last one ended. The session must have no other requests. Fails as
/// Session::step.
Result<std::vector<LoadRecord>> runSessionLoad(Session &session, Workload &workload,
                                               const Pacing &pacing, bool ignoreEos,
                                               LoadProgress &progress, double &seconds);

} // namespace ingot::runtime
