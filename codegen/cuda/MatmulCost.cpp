// SPDX-License-Identifier: Apache-2.0
// The model. What is called fitted is fitted to those rows of tests/bench/published/published.json
// that say so, and examined on all of them (docs/results/published-kernels.md).
#include "codegen/cuda/MatmulCost.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ingot::codegen;

namespace {

/// Fitted: until the first stage has come and the first sums are formed; and from the last
/// product of a tile until it is stored.
constexpr double kFillSeconds = 1.5e-6, kDrainSeconds = 1.5e-6;
/// Of a load from memory under load: published are 0.7 us, fitted are 0.9.
constexpr double kLatencySeconds = 0.9e-6;
/// Fitted: of the units of a multiprocessor that do not decide, the share that is not hidden. wgmma
/// runs beside everything else; mma.sync between a warp's other instructions, of which conversions
/// are many. The last is for eight warps; that twice as many show half of it is a guess.
constexpr double kShownByShared = 0, kShownByRegisters = 0.35, kShownByMma = 0.05,
                 kShownByConverting = 1, kFittedWarps = 8;
/// Fitted: of supply and units the share of the shorter one that is not hidden, where the warps
/// that multiply also load what they multiply.
constexpr double kShownSupply = 0.25;
/// A guess: two barriers of a cluster, and reads of each other's shared memory between them, whose
/// latency is published as 0.1 us.
constexpr double kClusterSeconds = 0.5e-6;
constexpr double kResultBytes = 2, kSumBytes = 4;

/// Bits of what the instructions multiply.
double operandBits(ProductType type) { return type == ProductType::Halves ? 16 : 8; }

double shownShare(const MatmulWork &work) {
  switch (work.family) {
  case MmaFamily::WgmmaShared:
    return kShownByShared;
  case MmaFamily::WgmmaRegisters:
    return kShownByRegisters;
  case MmaFamily::MmaSync:
    break;
  }
  if (std::min(work.weightBits, work.inputBits) >= operandBits(work.type))
    return kShownByMma;
  return kShownByConverting * std::min(1.0, kFittedWarps / double(work.warps * work.residents));
}

/// How a launch's blocks are spread over the part.
struct Spread {
  Spread(const CudaPart &part, const MatmulWork &work)
      : tokenTiles(llvm::divideCeil(work.tokens, work.tileTokens)),
        blocks(llvm::divideCeil(work.rows, work.tileRows) * tokenTiles * work.shares),
        busy(work.streams ? part.multiprocessors : std::min(blocks, part.multiprocessors)),
        waves(llvm::divideCeil(blocks, part.multiprocessors)),
        // Segments are not cut: the longest share decides.
        columns(double(work.k) * double(llvm::divideCeil(work.segments, work.shares)) /
                double(work.segments)),
        tiles(work.streams ? double(blocks) / double(part.multiprocessors) : double(waves)) {}

  int64_t tokenTiles, blocks;
  int64_t busy, waves; ///< multiprocessors at work, and the blocks that one of them has at most
  double columns;      ///< of k that a block has
  double tiles;        ///< that the busiest multiprocessor works through
};

/// Seconds that the busiest multiprocessor's own units need, one beside the other.
struct Units {
  Units(const CudaPart &part, const MatmulWork &work, const Spread &spread) {
    double stages = spread.tiles * spread.columns / double(work.depth);
    double flops = 2.0 * double(work.tileRows) * double(work.tileTokens) * double(work.depth);
    multiply = stages * flops * double(part.multiprocessors) / part.rate(work.type, work.family);
    issue = stages * work.instructions / (part.issuedPerClock * part.clock());
    shared = stages * work.sharedBytes / (part.sharedPerClock * part.clock());
  }
  double most() const { return std::max({multiply, issue, shared}); }
  double sum() const { return multiply + issue + shared; }

  double multiply, issue, shared;
};

/// Seconds until all operands have come: from memory at the rate that those at work can ask for,
/// and from L2.
struct Supply {
  Supply(const CudaPart &part, const MatmulWork &work, const Spread &spread) {
    double weight = double(work.tileRows) * work.weightBits / 8;
    double input = double(work.tileTokens) * work.inputBits / 8;
    double cached = part.cachedPerClock * part.clock();
    cache = spread.tiles * spread.columns * (weight + input / double(work.multicast)) / cached;
    int64_t passes = work.tokenGroup > 0 ? llvm::divideCeil(spread.tokenTiles, work.tokenGroup) : 1;
    double bytes = double(passes) * double(work.rows) * double(work.k) * work.weightBits / 8 +
                   double(work.tokens) * double(work.k) * work.inputBits / 8 +
                   double(work.rows) * double(work.tokens) * kResultBytes;
    double onTheirWay =
        double(work.residents * (work.stages - 1)) * double(work.depth) * (weight + input);
    double asked = double(spread.busy) * std::min(onTheirWay / kLatencySeconds, cached);
    // With tiles side by side over the tokens most of what is asked for comes from L2.
    double rate = part.copiedPerSecond * 1e9;
    memory = bytes / (spread.tokenTiles == 1 ? std::min(rate, asked) : rate);
  }
  double most() const { return std::max(memory, cache); }

  double memory, cache;
};

/// Seconds in which a multiprocessor has no work of its own behind the first tile's: each wave of
/// blocks ends by storing, and begins by filling, unless other blocks or warps go on meanwhile.
double endSeconds(const MatmulWork &work, const Spread &spread) {
  if (work.overlapsEnds)
    return 0;
  auto ends = double(llvm::divideCeil(spread.waves, work.residents) - 1);
  return ends * (kDrainSeconds + (work.persistent || work.streams ? 0 : kFillSeconds));
}

/// Seconds that the last block of a tile needs for the sums of all shares: it waits for the others
/// and reads alone.
double addSeconds(const CudaPart &part, const MatmulWork &work) {
  if (work.shares <= 1)
    return 0;
  if (work.clustered)
    return kClusterSeconds;
  // Integers are one sum a share. Else the first share's segments are one sum, and all others one
  // each.
  int64_t parts = work.type == ProductType::Integers
                      ? work.shares
                      : work.segments - work.segments / work.shares + 1;
  double bytes = double(parts * work.tileRows * work.tileTokens) * kSumBytes;
  return kLatencySeconds + bytes / (part.cachedPerClock * part.clock());
}

} // namespace

double ingot::codegen::matmulSeconds(const CudaPart &part, const MatmulWork &work) {
  Spread spread(part, work);
  Units units(part, work, spread);
  double supply = Supply(part, work, spread).most();
  double own = units.most() + shownShare(work) * (units.sum() - units.most());
  double main = std::max(own, supply);
  if (work.family != MmaFamily::WgmmaShared)
    main += kShownSupply * std::min(own, supply);
  // While some blocks end, others keep memory busy, as long as it is memory that they wait for.
  double ends = std::max(0.0, endSeconds(work, spread) - std::max(0.0, supply - units.most()));
  return part.launchSeconds + kFillSeconds + main + kDrainSeconds + ends + addSeconds(part, work);
}

llvm::StringLiteral ingot::codegen::matmulBound(const CudaPart &part, const MatmulWork &work) {
  Spread spread(part, work);
  Units units(part, work, spread);
  Supply supply(part, work, spread);
  std::pair<double, llvm::StringLiteral> all[] = {{supply.memory, "memory"},
                                                  {supply.cache, "cache"},
                                                  {units.multiply, "multiply"},
                                                  {units.issue, "issue"},
                                                  {units.shared, "shared"}};
  return std::max_element(std::begin(all), std::end(all),
                          [](const auto &a, const auto &b) { return a.first < b.first; })
      ->second;
}

double ingot::codegen::streamSeconds(const CudaPart &part, double bytes, double computing) {
  return part.launchSeconds + kFillSeconds +
         std::max(bytes / (part.copiedPerSecond * 1e9), computing);
}

double ingot::codegen::sharedBytesOf(const WarpTile &warp) {
  constexpr double kRows = 16, kTokens = 8;
  double weights = double(warp.rowTiles) * kRows * warp.weightBits / 8;
  double inputs = double(warp.tokenBlocks) * kTokens * warp.inputBits / 8;
  return double(warp.depth) * ((warp.family == MmaFamily::WgmmaShared ? 0 : weights) +
                               (warp.family == MmaFamily::MmaSync ? inputs : 0));
}

double ingot::codegen::instructionsOf(const WarpTile &warp) {
  // Counted in SASS (docs/cuda-kernels-tried.md): copies, waits and addresses of a stage, and
  // conversions of 16 rows of weights and of 8 tokens, by 16 columns.
  constexpr double kOfStage = 54, kOfWeights = 13, kOfInputs = 4, kLoadBytes = 512;
  double bits = operandBits(warp.type), columns = double(warp.depth) / 16;
  double rows = double(warp.rowTiles), tokens = double(warp.tokenBlocks);
  // mma.sync multiplies 16 rows by 8 tokens; wgmma has 16 rows of a warp and all tokens.
  double products = columns * bits / 16 * rows * (warp.family == MmaFamily::MmaSync ? tokens : 1);
  double converted = (warp.weightBits < bits ? kOfWeights * rows : 0) +
                     (warp.inputBits < bits ? kOfInputs * tokens : 0);
  return kOfStage + products + columns * converted + sharedBytesOf(warp) / kLoadBytes;
}
