// SPDX-License-Identifier: Apache-2.0
// Deviation: what an engine does otherwise than a file states, or what of it is not read.
#pragma once

#include <string>

namespace ingot::checkpoint {

/// A line of the report, for people.
struct Deviation {
  std::string what, stated, effective, why;
  bool isTold = false; ///< on the terminal too
};

} // namespace ingot::checkpoint
