// SPDX-License-Identifier: Apache-2.0
// What a changed matrix changes in its outputs.
#pragma once

#include <cstdint>

namespace ingot::quantize {

/// || (changed - weight) Xᵀ ||² of matrices [rows, columns], X being `inputs` [count, columns]; the
/// same bytes for any number of threads. Scratch, for each thread: 64 rows of (columns + count) * 4
/// bytes.
double outputError(const float *weight, const float *changed, int64_t rows, int64_t columns,
                   const float *inputs, int64_t count, unsigned threads);

} // namespace ingot::quantize
