// SPDX-License-Identifier: Apache-2.0
// One product by Eigen, for the instruction set that the file which includes this is compiled for.
// Eigen chooses the depth of its blocks, and so the order of sums, by the sizes of caches: they are
// stated here instead of asked of the processor. EIGEN_DEFAULT_L1_CACHE_SIZE is stated before.
#pragma once

#define EIGEN_NO_CPUID
#define EIGEN_DEFAULT_L2_CACHE_SIZE 1048576
#define EIGEN_DEFAULT_L3_CACHE_SIZE 4194304
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY

#include "compiler/quantize/methods/MatrixView.h"

#include <Eigen/Core>

namespace {

template <class T> using Matrix = Eigen::Matrix<T, -1, -1, Eigen::RowMajor>;
template <class T> using Strided = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;

template <class T> Strided<T> at(T *data, int64_t stride, int64_t rows, int64_t columns) {
  return Strided<T>(data, rows, columns, Eigen::OuterStride<>(stride));
}

Eigen::Map<const Matrix<float>, 0, Eigen::OuterStride<>> at(const float *data, int64_t stride,
                                                            int64_t rows, int64_t columns) {
  return {data, rows, columns, Eigen::OuterStride<>(stride)};
}

void addByEigen(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                ingot::quantize::MatrixView a, ingot::quantize::MatrixView b, float sign) {
  auto sum = at(c, stride, rows, columns);
  if (a.transposed && b.transposed)
    sum.noalias() += sign * at(a.data, a.stride, depth, rows).transpose() *
                     at(b.data, b.stride, columns, depth).transpose();
  else if (a.transposed)
    sum.noalias() +=
        sign * at(a.data, a.stride, depth, rows).transpose() * at(b.data, b.stride, depth, columns);
  else if (b.transposed)
    sum.noalias() +=
        sign * at(a.data, a.stride, rows, depth) * at(b.data, b.stride, columns, depth).transpose();
  else
    sum.noalias() +=
        sign * at(a.data, a.stride, rows, depth) * at(b.data, b.stride, depth, columns);
}

} // namespace
