// SPDX-License-Identifier: Apache-2.0
// The model: a block multiplies at a share of its multiprocessor's rate, the better the larger its
// tile; blocks of a wave run side by side.
#include "codegen/cuda/MatmulCost.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ingot::codegen;

namespace {

constexpr double kLaunchSeconds = 2e-6;
/// Rows and tokens of a tile at which reading its operands costs as much as multiplying.
constexpr double kOperandCost = 24;
/// The share of the published bandwidth that kernels reach.
constexpr double kBandwidthShare = 0.88;

} // namespace

double ingot::codegen::matmulSeconds(const CudaArchitecture &architecture, const MatmulWork &work) {
  int64_t tiles =
      llvm::divideCeil(work.rows, work.tileRows) * llvm::divideCeil(work.tokens, work.tileTokens);
  int64_t shares = std::clamp<int64_t>(2 * architecture.multiprocessors / tiles, 1, work.shares);
  int64_t waves = llvm::divideCeil(tiles * shares, architecture.multiprocessors);
  double efficiency =
      1 / (1 + kOperandCost / double(work.tileRows) + kOperandCost / double(work.tileTokens));
  double rate = architecture.halfTeraflops * 1e12 / double(architecture.multiprocessors);
  double tileFlops =
      2.0 * double(work.tileRows) * double(work.tileTokens) * double(work.k) / double(shares);
  double multiply = double(waves) * tileFlops / (rate * efficiency);
  double bytes = double(work.rows) * double(work.k) * double(work.weightBits) / 8;
  // A part of the multiprocessors cannot ask for all of the bandwidth.
  double busy = std::min(1.0, double(tiles * shares) / double(architecture.multiprocessors));
  double memory = bytes / (architecture.gigabytesPerSecond * 1e9 * kBandwidthShare * busy);
  return kLaunchSeconds + std::max(multiply, memory);
}

double ingot::codegen::streamSeconds(const CudaArchitecture &architecture, double bytes,
                                     double computing) {
  double memory = bytes / (architecture.gigabytesPerSecond * 1e9 * kBandwidthShare);
  return kLaunchSeconds + std::max(memory, computing);
}
