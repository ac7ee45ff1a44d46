// SPDX-License-Identifier: Apache-2.0
// GPTQ (arXiv 2210.17323) and GPTAQ (arXiv 2504.02692): columns are rounded one after the other,
// and those to come take over what the rounding of each leaves in the outputs.
#pragma once

#include "compiler/quantize/methods/Grid.h"
#include "compiler/quantize/methods/Moments.h"

namespace ingot::quantize {

struct GptqOptions {
  /// Columns in the order of falling squares of inputs, with scales fitted to the weights
  /// beforehand ("static groups"), so that groups stay runs of columns. Otherwise columns in their
  /// own order, and the scale of a group is fitted to the weights as they are when its turn comes.
  bool actOrder = true;
  double damping = 0.01;   ///< share of the mean square that is added to the diagonal; >= 0
  int64_t block = 128;     ///< columns after which the others are updated, 1 to 1024
  int32_t sweeps = 0;      ///< at most, of refine()
  double asymmetry = 0.25; ///< GPTAQ's share of the correction; used with asymmetric moments
  ClipSearch clip;         ///< weighed by D: what an error costs after the columns to come
                           ///< made up for it
  unsigned threads = 1;
};

struct GptqResult {
  QuantizedMatrix matrix;
  double damping = 0; ///< that was needed: `damping`, or up to 1000 times as much
  double error = 0;   ///< tr(dW H dWᵀ) / count: the mean squared error of a row of outputs
};

/// Quantizes `weight` [rows, columns]. Inputs that were always 0 have weights rounded to nearest.
/// With H = U D Uᵀ, U a unit upper triangle (one Cholesky factor of H in reversed order), the
/// rounded value of column k is that of w_k + sum over j < k of (w_j - q_j) U_jk: this equals GPTQ
/// with the factor of H's inverse (QuIP, arXiv 2307.13304) without inverting anything.
/// Factors are computed in f64 up to 4096 columns, then in f32.
/// Scratch: gptqScratch(), and for each thread 128 rows of 8 bytes a column, without actOrder 8
/// more more a column of a group. Refuses weights and moments that are not finite (INGOT-E2301),
/// and moments that are no positive definite matrix even after damping was raised tenfold three
/// times (INGOT-E2303).
Expected<GptqResult> gptq(const float *weight, int64_t rows, int64_t columns, const Grid &grid,
                          const Moments &moments, const GptqOptions &options);

/// The same with scales that are given: those, and the zeros or the book, of `scaled`, whose codes
/// are decided. `options.clip` is not used, and columns are taken in the order of actOrder.
Expected<GptqResult> gptqWithScales(const float *weight, QuantizedMatrix scaled,
                                    const Moments &moments, GptqOptions options);

/// Bytes that gptq() takes for its factors, with asymmetric moments or without.
uint64_t gptqScratch(int64_t columns);

/// Coordinate descent: up to `options.sweeps` times, each column in turn takes the codes that are
/// best while all others stay, by tr(dW H dWᵀ), H damped as for gptq(), or with asymmetric moments
/// by the squared difference from outputs that lie `options.asymmetry` of the way from W x to those
/// of the unquantized model, which that is without the cross sums. (All of the way fits the text
/// that was seen: SmolLM2's KL divergence is then 3.0 instead of 0.12; undamped it is 0.122, else
/// 0.116.) Scales and zeros stay. Returns tr(dW H dWᵀ) / count of the result. Scratch: for each
/// thread 128 rows of 8 bytes a column. `matrix` is that of a quantization of `weight`; moments are
/// finite.
double refine(QuantizedMatrix &matrix, const float *weight, const Moments &moments,
              const GptqOptions &options);

} // namespace ingot::quantize
