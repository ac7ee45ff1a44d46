// SPDX-License-Identifier: Apache-2.0
// Products with AVX-512, twice as fast and to the bit those of AVX2. Pointers and numbers alone
// cross this header.
#pragma once

#include "compiler/quantize/methods/MatrixView.h"

namespace ingot::quantize {

/// Eigen sums each element of a product over the depth in order, wherever whole panels are computed
/// and the depth is one block: panels of four rows and three vectors of columns (24 with AVX2, 48
/// with AVX-512), and blocks that fit into the caches stated in the sources.
inline constexpr int64_t kWideRows = 4, kWideColumns = 48, kSumDepth = 192;

/// Whether this machine has AVX-512 and this is a build for x86-64.
bool isWideHere();

/// addProduct() where rows and columns are multiples of kWideRows and kWideColumns, depth is at
/// most kSumDepth, and isWideHere().
void addWideProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                    MatrixView a, MatrixView b, float sign);
/// The same for any rows, columns and depth with AVX2, where isSupportedHere().
void addNarrowProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                      MatrixView a, MatrixView b, float sign);

} // namespace ingot::quantize
