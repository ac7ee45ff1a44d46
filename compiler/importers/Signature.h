// SPDX-License-Identifier: Apache-2.0
// What tells that a reader takes a matrix: a line of INGOT_FORMAT_READERS has one or several.
#pragma once

#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <optional>

namespace ingot::compiler {

inline constexpr bool kStated = true;

struct Signature {
  std::string_view part = {};                 ///< that the module has
  std::optional<checkpoint::DType> type = {}; ///< of its elements
  std::string_view beside = {};               ///< another part
  bool isStated = false; ///< the configuration must name a format of the reader
};

} // namespace ingot::compiler
