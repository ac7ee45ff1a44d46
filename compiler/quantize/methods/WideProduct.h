// SPDX-License-Identifier: Apache-2.0
// Products with AVX-512, twice as fast and to the bit those of AVX2. Pointers and numbers alone
// cross this header.
#pragma once

#include <cstdint>

namespace ingot::quantize {

/// Eigen sums each element of a product over the depth in order, wherever whole panels are computed
/// and the depth is one block: panels of four rows and three vectors of columns (24 with AVX2, 48
/// with AVX-512), and blocks that fit into the caches stated in the sources.
inline constexpr int64_t kWideRows = 4, kWideColumns = 48, kSumDepth = 192;

/// Whether this machine has AVX-512 and this is a build for it.
bool isWideHere();

/// c[rows, columns] += aᵀ b of a[depth, rows] and b[depth, columns], whose rows are `inputStride`
/// apart; rows and columns are multiples of kWideRows and kWideColumns, depth is at most kSumDepth.
/// On this thread, and only where isWideHere().
void addWideProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                    const float *a, const float *b, int64_t inputStride);
/// The same for any rows and depth with AVX2, where isSupportedHere().
void addNarrowProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                      const float *a, const float *b, int64_t inputStride);

} // namespace ingot::quantize
