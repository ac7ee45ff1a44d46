// SPDX-License-Identifier: Apache-2.0
// The method of wgmma: weights are its register operand, whatever the number of tokens.
#include "codegen/cuda/MatmulMethods.h"

using namespace ingot;
using namespace ingot::codegen;

namespace {

/// Columns after which sums of e4m3 products, of which tensor cores keep few bits, join those in
/// f32.
constexpr int64_t kPromoted = 128;
/// Columns of the shortest groups: of two products of 16.
constexpr int64_t kLeastGroup = 32;
/// The swizzle of the tokens' side goes by addresses.
constexpr int64_t kSwizzleAlignment = 1024;

constexpr int64_t kWarpGroup = 4 * kWarpSize;
/// Two warp groups have 64 rows each, and all tokens of the tile.
constexpr Tile tileOf(int64_t most, int64_t tokenBlocks) {
  return {most, 8, 1, 1, tokenBlocks, most == INT64_MAX ? Sharing::None : Sharing::Workspace};
}
constexpr Tile kFewTokens[] = {tileOf(8, 1), tileOf(16, 2), tileOf(32, 4), tileOf(64, 8)};
/// Sums that are closed before their segment ends have a second set of registers.
constexpr Tile kManyClosed[] = {tileOf(INT64_MAX, 12), tileOf(INT64_MAX, 16)};
constexpr Tile kManyWhole[] = {tileOf(INT64_MAX, 16), tileOf(INT64_MAX, 24), tileOf(INT64_MAX, 32)};
/// Rows from which on clusters are blocks enough: with fewer, more blocks than a cluster has share.
constexpr int64_t kLeastClustered = 1024;

bool isFloat8(const MatmulShape &shape) { return mlir::isa<mlir::Float8E4M3FNType>(shape.input); }

bool takes(const MatmulShape &shape, const CudaArchitecture &architecture) {
  constexpr int kVersion = 90;
  // Sums of inputs, which offsets meet, would be a product of their own.
  if (architecture.version != kVersion || shape.integer || shape.zeros == kOffsets)
    return false;
  if (isFloat8(shape) && shape.group > kPromoted)
    return false;
  return shape.group == 0 || shape.group >= kLeastGroup;
}

int64_t width(const MatmulShape &shape, const CudaArchitecture &) {
  constexpr int64_t kHalvesWidth = 16;
  return !isFloat8(shape) ? kHalvesWidth : shape.group > 0 ? shape.group : kPromoted;
}

ProductType productOf(const MatmulShape &shape, const CudaArchitecture &) {
  return isFloat8(shape) ? ProductType::Float8 : ProductType::Halves;
}

llvm::SmallVector<Tile> tilesFor(const MatmulShape &shape) {
  llvm::SmallVector<Tile> tiles(std::begin(kFewTokens), std::end(kFewTokens));
  bool closes = groupOf(shape) > 0 || isFloat8(shape);
  llvm::append_range(tiles, closes ? llvm::ArrayRef(kManyClosed) : llvm::ArrayRef(kManyWhole));
  // One copy cannot bring rows that stand anywhere.
  if (shape.experts == 0)
    for (Tile &tile : tiles) {
      tile.producers = tile.most == INT64_MAX ? kWarpGroup : kWarpSize;
      tile.fromShared = shape.weight == shape.input;
      if (tile.sharing == Sharing::Workspace && shape.rows >= kLeastClustered)
        tile.sharing = Sharing::Cluster;
    }
  return tiles;
}

void describe(CudaVariant &variant, const MatmulShape &shape, const Plan &plan,
              const CudaArchitecture &architecture) {
  variant.integer("promoted", isFloat8(shape) ? kPromoted : 0);
  variant.integer("totals_offset",
                  llvm::alignTo(plan.stages * plan.stageBytes + plan.decodedBytes, 16));
  variant.expects(isFloat8(shape) ? "QGMMA" : "HGMMA");
}

} // namespace

constexpr MatmulMethod codegen::kGroupMethod = {.source = "MatmulGroup",
                                                .needs = {.inputAlignment = kSwizzleAlignment,
                                                          .otherShared = 2048 + kSwizzleAlignment,
                                                          .opensGroups = false,
                                                          .putsTotals = true},
                                                .unit = engine::SumUnit::WarpGroup,
                                                .width = width,
                                                .family = MmaFamily::WgmmaRegisters,
                                                .takes = takes,
                                                .product = productOf,
                                                .tiles = tilesFor,
                                                .describe = describe};
