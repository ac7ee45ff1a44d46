// SPDX-License-Identifier: Apache-2.0
// From f32 rows to ggml's blocks. What is minimised is the squared error of each number, weighted
// by the importance of its column; without importance all columns count alike. Numbers that no f16
// scale reaches become the nearest that one does.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <span>

namespace ingot::quantize {

/// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, and the plain types F32, F16, BF16.
bool canEncodeGgml(checkpoint::DType dtype);

/// The rows `rows` (`count` of `columns` numbers each) as `dtype`; `out` has room for exactly
/// these. `importance` is empty or has a finite number of at least zero for each column. The bytes
/// depend on nothing else, and those of a row on no other row.
/// Errors: INGOT-E1130 for a number or an importance that is NaN or infinite, or a negative
/// importance; E1131 for a type that cannot be encoded or sizes that do not fit it.
checkpoint::Outcome encodeRows(checkpoint::DType dtype, const float *rows, uint64_t count,
                               uint64_t columns, std::span<const float> importance,
                               std::span<std::byte> out);

} // namespace ingot::quantize
