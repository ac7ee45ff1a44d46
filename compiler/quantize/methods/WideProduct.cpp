// SPDX-License-Identifier: Apache-2.0
// Eigen under a name of its own: the linker shares functions of templates between files, and other
// files' are for AVX2.
#define EIGEN_DEFAULT_L1_CACHE_SIZE 49152
#define Eigen EigenForAvx512
#include "compiler/quantize/methods/WideProduct.h"
#include "compiler/quantize/methods/EigenProduct.h"

void ingot::quantize::addWideProduct(float *c, int64_t stride, int64_t rows, int64_t columns,
                                     int64_t depth, MatrixView a, MatrixView b, float sign) {
  addByEigen(c, stride, rows, columns, depth, a, b, sign);
}
