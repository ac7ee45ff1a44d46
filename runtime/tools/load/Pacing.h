// SPDX-License-Identifier: Apache-2.0
// When the requests of a load are made.
#pragma once

#include <cstdint>
#include <limits>

namespace ingot::runtime {

/// In a closed loop so many clients each make a request after the other; in an open loop requests
/// come when they are due, however many are unanswered.
struct Pacing {
  int64_t concurrency = 0; ///< clients of a closed loop; 0: the loop is open
  /// Seconds after which no request is made; those that were made are waited for.
  double duration = std::numeric_limits<double>::infinity();
};

} // namespace ingot::runtime
