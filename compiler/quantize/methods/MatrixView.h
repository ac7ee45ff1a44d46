// SPDX-License-Identifier: Apache-2.0
// A matrix as products read it.
#pragma once

#include <cstdint>

namespace ingot::quantize {

/// A matrix that is read.
struct MatrixView {
  const float *data;
  int64_t stride;
  bool transposed = false; ///< the matrix is the transpose of what lies at `data`
};

} // namespace ingot::quantize
