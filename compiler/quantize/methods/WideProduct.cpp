// SPDX-License-Identifier: Apache-2.0
// Eigen under a name of its own: the linker shares functions of templates between files, and other
// files' are for AVX2.
#define EIGEN_NO_CPUID
#define EIGEN_DEFAULT_L1_CACHE_SIZE 49152
#define EIGEN_DEFAULT_L2_CACHE_SIZE 1048576
#define EIGEN_DEFAULT_L3_CACHE_SIZE 4194304
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY

#include "compiler/quantize/methods/WideProduct.h"

#ifdef __x86_64__
#define Eigen EigenForAvx512
#include <Eigen/Core>

using Matrix = Eigen::Matrix<float, -1, -1, Eigen::RowMajor>;
using Strided = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
using StridedInput = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

void ingot::quantize::addWideProduct(float *c, int64_t stride, int64_t rows, int64_t columns,
                                     int64_t depth, const float *a, const float *b,
                                     int64_t inputStride) {
  const Eigen::OuterStride<> step(inputStride);
  Strided(c, rows, columns, Eigen::OuterStride<>(stride)).noalias() +=
      StridedInput(a, depth, rows, step).transpose() * StridedInput(b, depth, columns, step);
}
#else
void ingot::quantize::addWideProduct(float *, int64_t, int64_t, int64_t, int64_t, const float *,
                                     const float *, int64_t) {}
#endif
