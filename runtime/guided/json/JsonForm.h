// SPDX-License-Identifier: Apache-2.0
// What is left open of how JSON texts are written.
#pragma once

#include <cstdint>

namespace ingot::runtime::guided {

/// How the texts are written.
struct JsonForm {
  uint32_t mostSpace = 8; ///< white space (JSON's four bytes) between two tokens, and at both ends
  /// Objects with members in the schema have others only where a keyword says so: a choice for
  /// models that never stop to add some. JSON Schema lets them have others.
  bool closed = false;
  /// The texts are also held to UniqueNames: counts of members are then exact.
  bool uniqueNames = false;
};

} // namespace ingot::runtime::guided
