// SPDX-License-Identifier: Apache-2.0
// Layouts, limits, constants and shape ranges of the matmul template.
#include "codegen/x86/MatmulKernels.h"

#include "codegen/VariantBuilder.h"
#include "codegen/x86/PanelLayout.h"
#include "codegen/x86/kernels/MatmulBlocks.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;

namespace {

/// Operands that an epilogue may have besides the sums.
constexpr size_t kEpilogueOperands = 4;

/// Columns of k whose products of unsigned and signed bytes cannot leave 32 bits.
constexpr int64_t kIntegerColumns = 65536;

/// One way to cut the product into tiles, for at most `most` rows.
struct Shape {
  int64_t most, tileRows, tileColumns;
  bool amx = false;   ///< with tiles of AMX
  int64_t widest = 0; ///< columns of a tile where that leaves leastTiles
};

/// Tiles of columns that are enough for many threads to share a weight.
constexpr int64_t leastTiles = 32;

/// Single rows get narrow tiles, so that many threads share the weight. Blocks of rows are wider
/// the more rows there are to pay for decoding the weight and packing the input.
constexpr Shape kShapes[] = {{1, 1, 64}, {32, 36, 64}, {INT64_MAX, 96, 256}};

/// Of bytes. Many rows share what weights are expanded to, and narrow products are cut finely, so
/// that threads share them evenly.
constexpr Shape kByteShapes[] = {
    {1, 1, 64}, {32, 36, 64, false, 256}, {INT64_MAX, 192, 64, false, 256}};

/// Tiles of AMX pay from more than half a tile of rows on where groups are scaled, of bytes with
/// one scale a row from two rows on, and of bf16 from the first. Many rows share what weights are
/// expanded to.
constexpr Shape kTileGroupShapes[] = {
    {1, 1, 64}, {8, 12, 64, false, 256}, {32, 32, 64, true, 256}, {INT64_MAX, 256, 256, true}};
constexpr Shape kTileRowShapes[] = {
    {1, 1, 64}, {16, 16, 64, true}, {32, 32, 64, true}, {INT64_MAX, 256, 128, true}};

/// Sums over blocks of scale codes, from so few rows on that expanding weights takes less than
/// their dot products.
constexpr Shape kTileBlockShapes[] = {
    {1, 1, 64}, {4, 12, 64, false, 256}, {32, 32, 64, true, 256}, {INT64_MAX, 256, 256, true}};

/// Floats as parts of bf16 take twice the bytes or more, so half of the rows.
constexpr Shape kTilePairShapes[] = {
    {16, 16, 64, true}, {32, 32, 64, true}, {INT64_MAX, 128, 256, true}};

/// What tuning may choose from: single rows, blocks of whole register tiles (6 or 12 rows), and of
/// tiles of AMX.
constexpr struct {
  int64_t tileRows, tileColumns;
  bool amx = false;
} kCandidates[] = {{1, 32},         {1, 64},          {1, 128},        {12, 64},
                   {36, 64},        {36, 128},        {36, 256},       {96, 128},
                   {96, 256},       {16, 64, true},   {32, 64, true},  {96, 128, true},
                   {96, 256, true}, {192, 128, true}, {256, 256, true}};

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The most of the dim that counts rows for which `shape` is meant. With experts its rows are those
/// of one of them; single rows pay as long as hardly any expert has two.
int64_t mostOf(const Shape &shape, llm::MatmulOp op) {
  if (!op.getOrder() || shape.most == INT64_MAX)
    return shape.most;
  constexpr int64_t sparse = 4;
  int64_t each = rowDimOf(op.getResult())->each;
  int64_t most =
      shape.most == 1 ? op.experts() / (sparse * each) : shape.most * op.experts() / each;
  return std::max<int64_t>(most, 1);
}

int64_t groupColumns(llm::MatmulOp op) {
  return std::max<int64_t>(op.getEncodedWeight().facts().group, 0);
}

/// Scales of a row of the input.
int64_t inputScales(llm::MatmulOp op) {
  return op.getInputScales() ? llm::columnsOf(op.getInputScales()) : 0;
}

/// Columns that are scaled alike.
int64_t groupWidth(llm::MatmulOp op) {
  int64_t group = groupColumns(op), k = llm::columnsOf(op.getInput());
  return std::min(group ? group : k, k / std::max<int64_t>(inputScales(op), 1));
}

bool isInteger(llm::MatmulOp op) { return typeOf(op.getInput()).getElementType().isInteger(8); }

/// Whether both sides are bf16 as it is, so that two columns make a dot product.
bool isPairs(llm::MatmulOp op) {
  return typeOf(op.getInput()).getElementType().isBF16() &&
         typeOf(op.getWeight()).getElementType().isBF16() && !op.getEncoding();
}

} // namespace

engine::LayoutAttr codegen::matmulLayout(llm::MatmulOp op, unsigned operand) {
  Value value = op->getOperand(operand);
  RankedTensorType type = typeOf(value);
  if (value == op.getWeight())
    return panelLayout(type,
                       panelInner(type.getElementType(), typeOf(op.getInput()).getElementType()));
  return op.getEncodedWeight().hasRows(value) ? panelLayout(type, 1) : rowMajorLayout(type);
}

std::optional<std::string> codegen::matmulDeclined(llm::MatmulOp op) {
  if (op.getEpilogueOperands().size() > kEpilogueOperands)
    return ("an epilogue has at most " + llvm::Twine(kEpilogueOperands) + " operands").str();
  if (op.getPairOffset() && *op.getPairOffset() != x86::panelRows)
    return ("pairs are " + llvm::Twine(x86::panelRows) + " columns apart").str();
  if (!rowDimOf(op.getResult()))
    return "rows must be a multiple of one of the dims T, S and L";
  if (op.experts() > 1 && op.expertRows() % x86::panelRows != 0)
    return ("the rows of an expert must be a multiple of " + llvm::Twine(x86::panelRows)).str();
  if (typeOf(op.getWeight()).getElementType().isInteger() && !op.getEncoding())
    return "an integer weight needs an encoding";
  if (groupColumns(op) % 8 != 0 || (inputScales(op) > 1 && groupWidth(op) % 8 != 0))
    return "groups must be multiples of 8 columns";
  if (isInteger(op) && groupWidth(op) > kIntegerColumns)
    return ("integer sums are exact up to " + llvm::Twine(kIntegerColumns) + " columns").str();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto layout = dyn_cast_or_null<engine::LayoutAttr>(typeOf(operand).getEncoding());
    if (layout && layout != matmulLayout(op, index))
      return ("operand " + llvm::Twine(index) + " has a layout of another operation").str();
  }
  return std::nullopt;
}

/// Whether sums on AMX are exact over blocks of scale codes, whose inputs are scaled alike.
static bool hasExactBlocks(llm::MatmulOp op) {
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

/// How the sums of `op` are made in tiles of AMX; nothing where its columns are no whole tiles.
static std::optional<x86::SumMethod> tileMethod(llm::MatmulOp op) {
  int64_t width = groupWidth(op), k = llm::columnsOf(op.getInput());
  if (isPairs(op))
    return k % (x86::amxRowBytes / 2) == 0 ? std::optional(x86::TileRows) : std::nullopt;
  if (!isInteger(op))
    return isPairGroups(op) ? std::optional(x86::TilePairs) : std::nullopt;
  // Groups are whole tiles, or parts of one.
  bool isGrouped = groupColumns(op) || inputScales(op) > 1;
  if (k % width != 0 || (width % x86::amxRowBytes != 0 && (!isGrouped || width > x86::amxRowBytes)))
    return std::nullopt;
  if (hasExactBlocks(op))
    return x86::TileBlocks;
  bool isPlain =
      typeOf(op.getWeight()).getElementType().isInteger(8) && !op.getEncodedWeight().zeros;
  return width == k && isPlain ? x86::TileRows : x86::TileGroups;
}

/// How the sums of `op` are made without AMX.
static x86::SumMethod registerMethod(llm::MatmulOp op, const MatmulTemplate &made) {
  if (isPairs(op))
    return made.bf16 ? x86::PairDots : x86::FloatPairs;
  if (isInteger(op)) {
    bool hasCodes = engine::elementBits(typeOf(op.getWeight()).getElementType()) < 8 &&
                    !op.getEncodedWeight().facts().hasCodeBook();
    return made.vnni ? x86::ByteDots : hasCodes ? x86::ByteHalves : x86::ByteWords;
  }
  return made.bf16 && isPairGroups(op) ? x86::PairGroups : x86::FloatColumns;
}

/// The order in which `method` adds. Of bytes every method is exact in a group; with AMX single
/// rows sum blocks of scale codes as tiles do.
static engine::SumsAttr sumsOf(llm::MatmulOp op, x86::SumMethod method,
                               const MatmulTemplate &made) {
  using engine::SumUnit;
  int64_t width = groupWidth(op);
  auto sums = [&](SumUnit unit, int64_t width, int64_t group, int64_t segment, int64_t parts = 1) {
    return engine::SumsAttr::get(op.getContext(), unit, width, group, segment, parts);
  };
  int64_t parts = x86::inputParts(engine::elementTypeOf(typeOf(op.getInput()).getElementType()));
  switch (method) {
  case x86::FloatColumns:
    return sums(SumUnit::Columns, 1, 0, x86::segmentColumns);
  case x86::FloatPairs:
  case x86::PairDots:
    return sums(SumUnit::Pairs, 2, 0, x86::segmentColumns);
  case x86::PairGroups:
    return sums(SumUnit::Pairs, 2, x86::summedColumns(method, width), 0, parts);
  case x86::TilePairs: {
    int64_t group = x86::summedColumns(method, width);
    return sums(SumUnit::Halves, std::min(group, x86::amxRowBytes / 2), group, 0, parts);
  }
  case x86::TileRows:
    if (isPairs(op))
      return sums(SumUnit::Halves, x86::amxRowBytes / 2, 0, 0);
    [[fallthrough]];
  case x86::ByteDots:
  case x86::ByteHalves:
  case x86::ByteWords:
  case x86::TileGroups:
  case x86::TileBlocks:
    break;
  }
  int64_t exact = made.amx && hasExactBlocks(op) ? kSuperColumns : width;
  return sums(SumUnit::Integers, exact, exact, 0);
}

/// The shapes of the kernels for `op`, on a target with AMX or without.
static ArrayRef<Shape> shapesFor(llm::MatmulOp op, bool amx) {
  std::optional<x86::SumMethod> method = amx ? tileMethod(op) : std::nullopt;
  if (!method)
    return isInteger(op) ? ArrayRef(kByteShapes) : ArrayRef(kShapes);
  if (*method == x86::TileGroups)
    return kTileGroupShapes;
  if (*method == x86::TileBlocks)
    return kTileBlockShapes;
  if (*method == x86::TilePairs)
    return kTilePairShapes;
  return ArrayRef(kTileRowShapes).drop_front(isPairs(op) ? 1 : 0);
}

/// Columns of a tile.
static int64_t columnsOf(const Shape &shape, llm::MatmulOp op) {
  int64_t columns = shape.tileColumns;
  while (columns < shape.widest && op.expertRows() >= 2 * columns * leastTiles)
    columns *= 2;
  return columns;
}

/// Whether a block's rows of the input do not follow each other.
static bool gathersRows(llm::MatmulOp op) {
  return op.getOrder() || llm::rowsFor(op.getType(), typeOf(op.getInput())) != 1;
}

/// A variant for tiles of such sizes; `amx`: of AMX, for which there is a method.
static KernelVariant matmulKernel(llm::MatmulOp op, int64_t tileRows, int64_t tileColumns, bool amx,
                                  const MatmulTemplate &made) {
  int64_t k = llm::columnsOf(op.getInput());
  int64_t panels = llvm::divideCeil(op.expertRows(), x86::panelRows);
  int64_t tilePanels = std::min(tileColumns / x86::panelRows, panels);
  VariantBuilder variant("Matmul", op.getContext());
  RowDim rows = *rowDimOf(op.getResult());
  variant.integer("rows_dim", rows.index);
  variant.integer("rows_each", rows.each);
  variant.integer("experts", op.getOrder() ? op.experts() : 0);
  variant.integer("input_share", llm::rowsFor(op.getType(), typeOf(op.getInput())));
  variant.integer("n", llm::columnsOf(op.getResult()));
  variant.integer("panels", panels);
  variant.integer("k", k);
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  x86::SumMethod method = amx ? *tileMethod(op) : registerMethod(op, made);
  variant.integer("method", method);
  variant.weight(op.getEncodedWeight());
  variant.integer("group", groupColumns(op));
  variant.integer("input_scales", inputScales(op));
  variant.integer("exact_blocks", made.amx && hasExactBlocks(op));
  variant.integer("pair_offset", op.getPairOffset().value_or(0));
  variant.integer("tile_panels", tilePanels);
  variant.integer("tile_rows", tileRows);
  variant.regionOperands(op.getEpilogueOperands(), op.getResult(), kEpilogueOperands);
  variant.candidate((amx ? "Matmul:t" : "Matmul:r") + llvm::Twine(tileRows) + ",c" +
                        llvm::Twine(tilePanels * x86::panelRows),
                    made.digest);
  variant.tiles(llvm::divideCeil(panels, tilePanels));
  if (op.getOrder())
    variant.extent(groupTiles(op.getResult(), op.experts(), tileRows));
  else
    variant.rowsOf(op.getResult(), tileRows);
  Type input = typeOf(op.getInput()).getElementType();
  x86::MatmulScratch scratch = {
      method,
      tileRows,
      tilePanels,
      k,
      x86::summedColumns(method, groupWidth(op)),
      x86::copiedElementBytes(method, engine::elementTypeOf(input), engine::elementBits(input) / 8),
      gathersRows(op),
      inputScales(op) > 1};
  KernelVariant kernel = variant.take(scratch.bytes());
  kernel.sums = sumsOf(op, method, made);
  // Right for more rows, but nothing that anyone should run.
  constexpr int64_t mostSingle = 16;
  if (tileRows == 1)
    kernel.guards = {engine::RangeAttr::get(op.getContext(), rows.name(), 1,
                                            std::max(mostSingle, mostOf(kShapes[0], op)))};
  return kernel;
}

engine::SumsAttr codegen::matmulSums(llm::MatmulOp op, const MatmulTemplate &made) {
  std::optional<x86::SumMethod> tiles = made.amx ? tileMethod(op) : std::nullopt;
  return sumsOf(op, tiles ? *tiles : registerMethod(op, made), made);
}

void codegen::matmulKernels(llm::MatmulOp op, llvm::ArrayRef<engine::RangeAttr> declared,
                            const MatmulTemplate &made,
                            llvm::SmallVectorImpl<KernelVariant> &kernels) {
  llvm::StringRef dim = rowDimOf(op.getResult())->name();
  int64_t most = mostOf(declared, dim);
  int64_t least = 1;
  for (const Shape &shape : shapesFor(op, made.amx)) {
    KernelVariant kernel = matmulKernel(op, shape.tileRows, columnsOf(shape, op), shape.amx, made);
    int64_t end = mostOf(shape, op);
    bool last = most <= end;
    if (!last)
      kernel.ranges = {engine::RangeAttr::get(op.getContext(), dim, least, end)};
    kernels.push_back(std::move(kernel));
    if (last)
      return;
    least = end + 1;
  }
}

void codegen::matmulCandidates(llm::MatmulOp op, const MatmulTemplate &made,
                               llvm::SmallVectorImpl<KernelVariant> &kernels) {
  for (auto [tileRows, tileColumns, amx] : kCandidates) {
    // The sums of all kernels of an operation agree; those of floats on AMX with no others.
    bool fits = made.amx && tileMethod(op);
    if (amx ? !fits : fits && !isInteger(op))
      continue;
    KernelVariant kernel = matmulKernel(op, tileRows, tileColumns, amx, made);
    // Tiles that are wider than the product are cut to it, and are the same kernel then.
    if (llvm::none_of(kernels, [&](const KernelVariant &other) {
          return other.constants == kernel.constants;
        }))
      kernels.push_back(std::move(kernel));
  }
}
