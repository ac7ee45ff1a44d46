// SPDX-License-Identifier: Apache-2.0
// Products, Cholesky factors and triangular solutions, by Eigen. Compiled for one instruction set:
// pointers and numbers alone cross this header. Matrices are row-major; `stride` is between rows.
#pragma once

#include "compiler/quantize/methods/MatrixView.h"

namespace ingot::quantize {

/// c[rows, columns] += sign * a[rows, depth] b[depth, columns], on this thread.
void addProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                MatrixView a, MatrixView b, float sign = 1);

/// The lower triangle of c[n, n] += xᵀ x of x[count, n], in tiles on up to `threads` threads. What
/// is above the diagonal may change too.
void addSecondMoments(float *c, int64_t n, const float *x, int64_t count, unsigned threads);
/// Makes c[n, n] symmetric to the bit, by its lower triangle.
void mirrorLower(float *c, int64_t n);
/// c[n, n] += yᵀ x of y, x[count, n], likewise.
void addCrossMoments(float *c, int64_t n, const float *y, const float *x, int64_t count,
                     unsigned threads);
/// The same of what is on the diagonal and right of it. What is left of it may change too.
void addUpperCrossMoments(float *c, int64_t n, const float *y, const float *x, int64_t count,
                          unsigned threads);

/// The factors of H = U D Uᵀ, U upper triangular with a diagonal of ones, in some order of columns.
struct UnitFactor {
  float *upper;   ///< [n, n]: U above the diagonal; 1 on it, 0 below
  double *pivots; ///< [n]: D
};
/// Factors h[order, order] + diag(added): row and column i of the factors are those of order[i].
/// Computes in T in `work` [n, n]. False where a pivot is not a number or under `least`.
template <class T>
bool factorUnitUpper(const float *h, const int32_t *order, const double *added, double least,
                     int64_t n, T *work, UnitFactor factor, unsigned threads);

/// The matrix P of GPTAQ from the cross sums c [n, n], in place: sign * (c[order] times the inverse
/// of the factor, above the diagonal) times the inverse of the factor's transpose. `c` is already
/// in the order of the factor.
void solveAsymmetry(float *c, UnitFactor factor, int64_t n, float strength, unsigned threads);

} // namespace ingot::quantize
