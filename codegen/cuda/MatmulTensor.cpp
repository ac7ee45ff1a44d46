// SPDX-License-Identifier: Apache-2.0
// The method of mma.sync.
#include "codegen/cuda/MatmulMethods.h"

using namespace ingot;
using namespace ingot::codegen;

namespace {

/// Few tokens: every warp has rows of its own, and blocks share k.
constexpr Tile kFewTokens[] = {{8, 8, 1, 1, 1, Sharing::Workspace},
                               {16, 8, 1, 1, 2, Sharing::Workspace},
                               {32, 8, 1, 1, 4, Sharing::Workspace},
                               {64, 4, 2, 2, 4, Sharing::Workspace}};
/// Many tokens: the tile is as near to square as registers allow. Sums by group need some for each
/// group besides those of the segment and of all.
constexpr Tile kManyGrouped = {INT64_MAX, 4, 2, 2, 4, Sharing::None};
constexpr Tile kManyCrowded = {INT64_MAX, 4, 2, 2, 2, Sharing::None};
constexpr Tile kManyHalves = {INT64_MAX, 2, 4, 4, 4, Sharing::None};
constexpr Tile kManyBytes = {INT64_MAX, 4, 2, 2, 8, Sharing::None};

bool takes(const MatmulShape &, const CudaArchitecture &) { return true; }

/// Whether e4m3 meets e4m3 in an instruction of its own. One that keeps fewer bits of its sums than
/// 16-bit products do would give other numbers than the rest of the architectures: there, and where
/// there is none, both sides are decoded to f16, which is exact.
bool multipliesFloat8(const MatmulShape &shape, const CudaArchitecture &architecture) {
  return mlir::isa<mlir::Float8E4M3FNType>(shape.input) && architecture.fp8SumBits >= kHalfSumBits;
}

int64_t width(const MatmulShape &shape, const CudaArchitecture &architecture) {
  constexpr int64_t kHalvesWidth = 16, kBytesWidth = 32;
  return multipliesFloat8(shape, architecture) ? kBytesWidth : kHalvesWidth;
}

ProductType productOf(const MatmulShape &shape, const CudaArchitecture &architecture) {
  return shape.integer                           ? ProductType::Integers
         : multipliesFloat8(shape, architecture) ? ProductType::Float8
                                                 : ProductType::Halves;
}

llvm::SmallVector<Tile> tilesFor(const MatmulShape &shape) {
  llvm::SmallVector<Tile> tiles(std::begin(kFewTokens), std::end(kFewTokens));
  if (isCrowded(shape)) {
    llvm::erase_if(tiles, [](const Tile &tile) { return tile.sums() > kFewSums; });
    tiles.push_back(kManyCrowded);
    return tiles;
  }
  tiles.push_back(kManyGrouped);
  if (shape.inputBytes == 1)
    tiles.push_back(kManyBytes);
  else if (groupOf(shape) == 0)
    tiles.push_back(kManyHalves);
  return tiles;
}

void describe(CudaVariant &variant, const MatmulShape &shape, const Plan &,
              const CudaArchitecture &architecture) {
  ProductType type = productOf(shape, architecture);
  variant.expects(type == ProductType::Integers ? "IMMA"
                  : type == ProductType::Float8 ? "QMMA"
                                                : "HMMA");
  variant.expects("LDSM");
}

} // namespace

constexpr MatmulMethod codegen::kTensorMethod = {
    .source = "MatmulTensor",
    .needs = {.inputAlignment = 16, .otherShared = 2048, .opensGroups = true, .putsTotals = false},
    .unit = engine::SumUnit::Tensor,
    .family = MmaFamily::MmaSync,
    .width = width,
    .takes = takes,
    .product = productOf,
    .tiles = tilesFor,
    .describe = describe};
