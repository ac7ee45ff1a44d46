// SPDX-License-Identifier: Apache-2.0
// The model: a block multiplies at a share of its multiprocessor's rate, the better the larger its
// tile; blocks of a wave run side by side. All constants here are guesses until they are measured.
#include "codegen/cuda/MatmulCost.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ingot::codegen;

namespace {

constexpr double kLaunchSeconds = 2e-6;
/// Rows and tokens of a tile at which reading its operands costs as much as multiplying.
constexpr double kOperandCost = 24;
/// Bytes a second that one multiprocessor gets from L2: 64 a cycle at 1.7 GHz.
constexpr double kCachedPerSecond = 110e9;

/// Seconds that the last block of a tile needs for the sums of all shares.
double addSeconds(const MatmulWork &work) {
  if (work.shares <= 1)
    return 0;
  // Integers are one sum a share. Else the first share's segments are one sum, and all others one
  // each.
  int64_t parts = work.type == ProductType::Integers
                      ? work.shares
                      : work.segments - work.segments / work.shares + 1;
  return double(parts * work.tileRows * work.tileTokens * 4) / kCachedPerSecond;
}

} // namespace

double ingot::codegen::matmulSeconds(const CudaPart &part, const MatmulWork &work) {
  int64_t tokenTiles = llvm::divideCeil(work.tokens, work.tileTokens);
  int64_t blocks = llvm::divideCeil(work.rows, work.tileRows) * tokenTiles * work.shares;
  int64_t waves = llvm::divideCeil(blocks, part.multiprocessors);
  double efficiency =
      1 / (1 + kOperandCost / double(work.tileRows) + kOperandCost / double(work.tileTokens));
  double rate = part.peak(work.type) * part.mmaShare / double(part.multiprocessors);
  double blockFlops =
      2.0 * double(work.tileRows) * double(work.tileTokens) * double(work.k) / double(work.shares);
  double multiply = double(waves) * blockFlops / (rate * efficiency);
  int64_t passes = work.tokenGroup > 0 ? llvm::divideCeil(tokenTiles, work.tokenGroup) : 1;
  double bytes = double(passes) * double(work.rows) * double(work.k) * double(work.weightBits) / 8;
  // A part of the multiprocessors cannot ask for all of the bandwidth.
  double busy = std::min(1.0, double(blocks) / double(part.multiprocessors));
  double memory = bytes / (part.copiedPerSecond * 1e9 * busy);
  return kLaunchSeconds + std::max(multiply, memory) + addSeconds(work);
}

double ingot::codegen::streamSeconds(const CudaPart &part, double bytes, double computing) {
  return kLaunchSeconds + std::max(bytes / (part.copiedPerSecond * 1e9), computing);
}
