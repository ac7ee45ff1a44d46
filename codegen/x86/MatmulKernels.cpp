// SPDX-License-Identifier: Apache-2.0
// Layouts and limits of products, and the constants and shape ranges of their kernels.
#include "codegen/x86/MatmulKernels.h"

#include "codegen/VariantBuilder.h"
#include "codegen/x86/MatmulMethods.h"
#include "codegen/x86/PanelLayout.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using Tiling = MatmulTiling;

namespace {

/// Operands that an epilogue may have besides the sums.
constexpr size_t kEpilogueOperands = 4;

/// Columns of k whose products of unsigned and signed bytes cannot leave 32 bits.
constexpr int64_t kIntegerColumns = 65536;

/// Tiles of columns that are enough for many threads to share a weight.
constexpr int64_t leastTiles = 32;

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

/// The most of the dim that counts rows for which `tiling` is meant. With experts its rows are
/// those of one of them, or of one head; single rows pay as long as hardly any expert has two.
int64_t mostRows(const Tiling &tiling, llm::MatmulOp op) {
  int64_t each = rowDimOf(op, op.getResult())->each;
  if (op.getHeads() && tiling.most != INT64_MAX)
    return std::max<int64_t>(tiling.most * op.experts() / each, 1);
  if (!op.getOrder() || tiling.most == INT64_MAX)
    return tiling.most;
  constexpr int64_t sparse = 4;
  int64_t most =
      tiling.most == 1 ? op.experts() / (sparse * each) : tiling.most * op.experts() / each;
  return std::max<int64_t>(most, 1);
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
  if (!rowDimOf(op, op.getResult()))
    return "rows must be a multiple of a dim";
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

/// Columns of a tile.
static int64_t columnsOf(const Tiling &tiling, llm::MatmulOp op) {
  int64_t columns = tiling.tileColumns;
  while (columns < tiling.widest && op.expertRows() >= 2 * columns * leastTiles)
    columns *= 2;
  return columns;
}

/// Whether a block's rows of the input do not follow each other.
static bool gathersRows(llm::MatmulOp op) {
  return op.getOrder() || op.getHeads() || llm::rowsFor(op.getType(), typeOf(op.getInput())) != 1;
}

static llvm::StringRef templateDigest(const X86Features &has, llvm::StringRef name) {
  const auto *found = llvm::find_if(has.templates.templates, [&](const KernelTemplate &one) {
    return llvm::StringRef(one.name) == name;
  });
  return found == has.templates.templates.end() ? llvm::StringRef() : digestOf(*found);
}

/// A variant for tiles of such sizes; `amx`: of AMX, for which there is a method.
static KernelVariant matmulKernel(llm::MatmulOp op, int64_t tileRows, int64_t tileColumns, bool amx,
                                  const X86Features &has) {
  const MatmulMethod &method = amx ? *tileMethod(op) : *registerMethod(op, has);
  int64_t panels = llvm::divideCeil(op.expertRows(), x86::panelRows);
  x86::MatmulSizes sizes = {tileRows,
                            std::min(tileColumns / x86::panelRows, panels),
                            llm::columnsOf(op.getInput()),
                            groupWidth(op),
                            inputType(op),
                            inputScales(op),
                            gathersRows(op)};
  VariantBuilder variant(method.source, op.getContext());
  RowDim rows = *rowDimOf(op, op.getResult());
  variant.integer("rows_dim", rows.index);
  variant.integer("rows_each", rows.each);
  variant.integer("experts", op.getOrder() ? op.experts() : 0);
  if (op.getHeads())
    variant.integer("heads", op.experts());
  variant.integer("input_share", llm::rowsFor(op.getType(), typeOf(op.getInput())));
  variant.integer("n", llm::columnsOf(op.getResult()));
  variant.integer("panels", panels);
  variant.integer("k", sizes.k);
  variant.integer("input_type", sizes.inputType);
  variant.type("result_type", op.getResult());
  variant.weight(op.getEncodedWeight());
  variant.integer("group", groupColumns(op));
  variant.integer("input_scales", sizes.inputScales);
  variant.integer("exact_blocks", has.amx && hasExactBlocks(op));
  variant.integer("pair_offset", op.getPairOffset().value_or(0));
  variant.integer("tile_panels", sizes.panels);
  variant.integer("tile_rows", sizes.rows);
  variant.regionOperands(op.getEpilogueOperands(), op.getResult(), kEpilogueOperands);
  variant.candidate(llvm::Twine(method.source) + ":r" + llvm::Twine(tileRows) + ",c" +
                        llvm::Twine(sizes.panels * x86::panelRows),
                    templateDigest(has, method.source));
  variant.tiles(llvm::divideCeil(panels, sizes.panels));
  if (op.getOrder())
    variant.extent(groupTiles(op.getResult(), op.experts(), tileRows));
  else
    variant.rowsOf(op.getResult(), tileRows, op.experts());
  KernelVariant kernel = variant.take(method.scratchBytes(sizes));
  kernel.sums = method.sums(op, has);
  // Right for more rows, but nothing that anyone should run.
  constexpr int64_t mostSingle = 16;
  if (tileRows == 1)
    kernel.guards = {engine::RangeAttr::get(op.getContext(), rows.dim, 1,
                                            std::max(mostSingle, mostRows(Tiling{1, 1, 0}, op)))};
  return kernel;
}

engine::SumsAttr codegen::matmulSums(llm::MatmulOp op, const X86Features &has) {
  return bestMethod(op, has)->sums(op, has);
}

void codegen::matmulKernels(llm::MatmulOp op, llvm::ArrayRef<engine::RangeAttr> declared,
                            const X86Features &has, llvm::SmallVectorImpl<KernelVariant> &kernels) {
  std::string dim = rowDimOf(op, op.getResult())->dim;
  int64_t most = mostOf(declared, dim);
  int64_t least = 1;
  for (const Tiling &tiling : bestMethod(op, has)->tilings) {
    KernelVariant kernel =
        matmulKernel(op, tiling.tileRows, columnsOf(tiling, op), tiling.amx, has);
    int64_t end = mostRows(tiling, op);
    bool last = most <= end;
    if (!last)
      kernel.ranges = {engine::RangeAttr::get(op.getContext(), dim, least, end)};
    kernels.push_back(std::move(kernel));
    if (last)
      return;
    least = end + 1;
  }
}

void codegen::matmulCandidates(llm::MatmulOp op, const X86Features &has,
                               llvm::SmallVectorImpl<KernelVariant> &kernels) {
  for (auto [tileRows, tileColumns, amx] : kCandidates) {
    // The sums of all kernels of an operation agree; those of floats on AMX with no others.
    bool fits = has.amx && tileMethod(op);
    if (amx ? !fits : fits && !isInteger(op))
      continue;
    KernelVariant kernel = matmulKernel(op, tileRows, tileColumns, amx, has);
    // Tiles that are wider than the product are cut to it, and are the same kernel then.
    if (llvm::none_of(kernels, [&](const KernelVariant &other) {
          return other.source == kernel.source && other.constants == kernel.constants;
        }))
      kernels.push_back(std::move(kernel));
  }
}
