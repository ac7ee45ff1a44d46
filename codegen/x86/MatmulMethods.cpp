// SPDX-License-Identifier: Apache-2.0
// The methods of summing, a row each, and what decides between them.
#include "codegen/x86/MatmulMethods.h"

#include "dialects/llm/LlmMatmulOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::SumUnit;
using Method = MatmulMethod;
using Tiling = MatmulTiling;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t codegen::groupColumns(llm::MatmulOp op) {
  return std::max<int64_t>(op.getEncodedWeight().facts().group, 0);
}

int64_t codegen::inputScales(llm::MatmulOp op) {
  return op.getInputScales() ? llm::columnsOf(op.getInputScales()) : 0;
}

int64_t codegen::groupWidth(llm::MatmulOp op) {
  int64_t group = groupColumns(op), k = llm::columnsOf(op.getInput());
  return std::min(group ? group : k, k / std::max<int64_t>(inputScales(op), 1));
}

int64_t codegen::inputType(llm::MatmulOp op) {
  return engine::elementTypeOf(typeOf(op.getInput()).getElementType());
}

bool codegen::isInteger(llm::MatmulOp op) {
  return typeOf(op.getInput()).getElementType().isInteger(8);
}

/// Whether both sides are bf16 as it is, so that two columns make a dot product.
static bool isPairs(llm::MatmulOp op) {
  return typeOf(op.getInput()).getElementType().isBF16() &&
         typeOf(op.getWeight()).getElementType().isBF16() && !op.getEncoding();
}

bool codegen::hasExactBlocks(llm::MatmulOp op) {
  return isInteger(op) && inputScales(op) <= 1 &&
         op.getEncodedWeight().facts().scales == kBlockScales &&
         kSuperColumns / groupColumns(op) <= x86::mostBlockGroups;
}

/// Whether both sides of `op` are floats in parts of bf16 whose sums are scaled by groups.
static bool isPairGroups(llm::MatmulOp op) {
  int64_t group = groupColumns(op), k = llm::columnsOf(op.getInput()), width = group ? group : k;
  bool fits = width % (x86::amxRowBytes / 2) == 0 || width == x86::amxRows;
  // Inputs of f32 would be three parts, with which single rows take longer than in f32; weights
  // without an encoding are one part only if they are bf16.
  Type input = typeOf(op.getInput()).getElementType();
  Type element = typeOf(op.getWeight()).getElementType();
  bool isWide = input.isF32() || (!op.getEncoding() && !element.isBF16());
  return !isInteger(op) && !isPairs(op) && fits && k % width == 0 && !isWide;
}

namespace {

/// Single rows get narrow tiles, so that many threads share the weight. Blocks of rows are wider
/// the more rows there are to pay for decoding the weight and packing the input.
constexpr Tiling kTilings[] = {{1, 1, 64}, {32, 36, 64}, {INT64_MAX, 96, 256}};

/// Of f32 weights, which nothing holds but memory: more rows share each that is read.
constexpr Tiling kPlainTilings[] = {{1, 1, 64}, {32, 36, 64}, {INT64_MAX, 264, 128}};

/// Of bytes. Many rows share what weights are expanded to, and narrow products are cut finely, so
/// that threads share them evenly.
constexpr Tiling kByteTilings[] = {
    {1, 1, 64}, {32, 36, 64, false, 256}, {INT64_MAX, 192, 64, false, 256}};

/// Tiles of AMX pay from more than half a tile of rows on where groups are scaled, of bytes with
/// one scale a row from two rows on, and of bf16 from the first. Many rows share what weights are
/// expanded to.
constexpr Tiling kTileGroupTilings[] = {
    {1, 1, 64}, {8, 12, 64, false, 256}, {32, 32, 64, true, 256}, {INT64_MAX, 256, 256, true}};
constexpr Tiling kTileRowTilings[] = {
    {1, 1, 64}, {16, 16, 64, true}, {32, 32, 64, true}, {INT64_MAX, 256, 128, true}};
constexpr Tiling kTileRowPairTilings[] = {
    {16, 16, 64, true}, {32, 32, 64, true}, {INT64_MAX, 256, 128, true}};

/// Sums over blocks of scale codes, from so few rows on that expanding weights takes less than
/// their dot products.
constexpr Tiling kTileBlockTilings[] = {
    {1, 1, 64}, {4, 12, 64, false, 256}, {32, 32, 64, true, 256}, {INT64_MAX, 256, 256, true}};

/// Floats as parts of bf16 take twice the bytes or more, so half of the rows.
constexpr Tiling kTilePairTilings[] = {
    {16, 16, 64, true}, {32, 32, 64, true}, {INT64_MAX, 128, 256, true}};

template <class Scratch> int64_t bytesOf(const x86::MatmulSizes &sizes) {
  return Scratch(sizes).bytes();
}

engine::SumsAttr sums(llm::MatmulOp op, SumUnit unit, int64_t width, int64_t group, int64_t segment,
                      int64_t parts = 1, bool fields = false) {
  return engine::SumsAttr::get(op.getContext(), unit, width, group, segment, parts, fields);
}

engine::SumsAttr columnSums(llm::MatmulOp op, const X86Features &) {
  return sums(op, SumUnit::Columns, 1, 0, x86::segmentColumns);
}

engine::SumsAttr pairSums(llm::MatmulOp op, const X86Features &) {
  return sums(op, SumUnit::Pairs, 2, 0, x86::segmentColumns);
}

int64_t partsOf(llm::MatmulOp op) { return x86::inputParts(inputType(op)); }

engine::SumsAttr pairGroupSums(llm::MatmulOp op, const X86Features &) {
  return sums(op, SumUnit::Pairs, 2, x86::pairedColumns(groupWidth(op)), 0, partsOf(op), true);
}

engine::SumsAttr tilePairSums(llm::MatmulOp op, const X86Features &) {
  int64_t group = x86::pairedColumns(groupWidth(op));
  return sums(op, SumUnit::Halves, std::min(group, x86::amxRowBytes / 2), group, 0, partsOf(op),
              true);
}

engine::SumsAttr tileRowPairSums(llm::MatmulOp op, const X86Features &) {
  return sums(op, SumUnit::Halves, x86::amxRowBytes / 2, 0, 0);
}

/// Every method is exact in a group of bytes; with AMX single rows sum blocks of scale codes as
/// tiles do.
engine::SumsAttr byteSums(llm::MatmulOp op, const X86Features &has) {
  int64_t exact = has.amx && hasExactBlocks(op) ? kSuperColumns : groupWidth(op);
  return sums(op, SumUnit::Integers, exact, exact, 0);
}

constexpr Method kFloatColumns = {"MatmulFloatColumns", bytesOf<x86::FloatColumnsScratch>,
                                  columnSums, kTilings};
constexpr Method kPlainColumns = {"MatmulFloatColumns", bytesOf<x86::FloatColumnsScratch>,
                                  columnSums, kPlainTilings};
constexpr Method kFloatPairs = {"MatmulFloatPairs", bytesOf<x86::FloatPairsScratch>, pairSums,
                                kTilings};
constexpr Method kPairDots = {"MatmulPairDots", bytesOf<x86::PairDotsScratch>, pairSums, kTilings};
constexpr Method kPairGroups = {"MatmulPairGroups", bytesOf<x86::PairGroupsScratch>, pairGroupSums,
                                kTilings};
constexpr Method kByteDots = {"MatmulByteDots", bytesOf<x86::ByteScratch<1>>, byteSums,
                              kByteTilings};
constexpr Method kByteHalves = {"MatmulByteHalves", bytesOf<x86::ByteScratch<1>>, byteSums,
                                kByteTilings};
constexpr Method kByteWords = {"MatmulByteWords", bytesOf<x86::ByteScratch<2>>, byteSums,
                               kByteTilings};
constexpr Method kTileRows = {"MatmulTileRows", bytesOf<x86::TileRowsScratch>, byteSums,
                              kTileRowTilings};
constexpr Method kTileRowPairs = {"MatmulTileRows", bytesOf<x86::TileRowsScratch>, tileRowPairSums,
                                  kTileRowPairTilings};
constexpr Method kTileGroups = {"MatmulTileGroups", bytesOf<x86::TileGroupsScratch>, byteSums,
                                kTileGroupTilings};
constexpr Method kTileBlocks = {"MatmulTileBlocks", bytesOf<x86::TileBlocksScratch>, byteSums,
                                kTileBlockTilings};
constexpr Method kTilePairs = {"MatmulTilePairs", bytesOf<x86::TilePairsScratch>, tilePairSums,
                               kTilePairTilings};

} // namespace

const Method *codegen::tileMethod(llm::MatmulOp op) {
  int64_t width = groupWidth(op), k = llm::columnsOf(op.getInput());
  if (isPairs(op))
    return k % 2 == 0 && k >= x86::amxRowBytes / 2 ? &kTileRowPairs : nullptr;
  if (!isInteger(op))
    return isPairGroups(op) ? &kTilePairs : nullptr;
  // Groups are whole tiles, or parts of one.
  bool isGrouped = groupColumns(op) || inputScales(op) > 1;
  if (k % width != 0 || (width % x86::amxRowBytes != 0 && (!isGrouped || width > x86::amxRowBytes)))
    return nullptr;
  if (hasExactBlocks(op))
    return &kTileBlocks;
  bool isPlain =
      typeOf(op.getWeight()).getElementType().isInteger(8) && !op.getEncodedWeight().zeros;
  return width == k && isPlain ? &kTileRows : &kTileGroups;
}

const Method *codegen::registerMethod(llm::MatmulOp op, const X86Features &has) {
  if (isPairs(op))
    return has.bf16 ? &kPairDots : &kFloatPairs;
  if (isInteger(op)) {
    bool hasCodes = engine::elementBits(typeOf(op.getWeight()).getElementType()) < 8 &&
                    !op.getEncodedWeight().facts().hasCodeBook();
    return has.vnni ? &kByteDots : hasCodes ? &kByteHalves : &kByteWords;
  }
  if (has.bf16 && isPairGroups(op))
    return &kPairGroups;
  return typeOf(op.getWeight()).getElementType().isF32() ? &kPlainColumns : &kFloatColumns;
}

const Method *codegen::bestMethod(llm::MatmulOp op, const X86Features &has) {
  const Method *tiles = has.amx ? tileMethod(op) : nullptr;
  return tiles ? tiles : registerMethod(op, has);
}
