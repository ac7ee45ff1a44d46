// SPDX-License-Identifier: Apache-2.0
// Which matmul template runs, and the simple one's constants and shape ranges.
#include "codegen/cuda/MatmulKernels.h"

#include "codegen/cuda/MatmulLayout.h"
#include "codegen/cuda/MatmulShape.h"
#include "dialects/llm/LlmMatmulOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::KernelVariant;
using engine::RangeAttr;

namespace {

/// Columns of k whose products of bytes cannot leave 32 bits.
constexpr int64_t kIntegerColumns = 65536;

/// A tile of the simple template for at most `most` tokens.
struct SimpleTile {
  int64_t most, rows;
};
constexpr SimpleTile kSimpleTiles[] = {{64, 8}, {INT64_MAX, 32}};
constexpr int64_t kSimpleColumns = 64, kSimpleThreads = 128, kSimpleGroup = 8;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Why no template takes `op`; nothing if one does.
Declined obstacle(llm::MatmulOp op, const MatmulShape &shape) {
  if (op.getEpilogueOperands().size() > kEpilogueOperands)
    return ("an epilogue has at most " + llvm::Twine(kEpilogueOperands) + " operands").str();
  if (op.getPairOffset() && int64_t(*op.getPairOffset()) != kCudaPairOffset)
    return ("pairs are " + llvm::Twine(kCudaPairOffset) + " columns apart").str();
  if (!shape.rowDim)
    return "rows must be a multiple of a dim";
  if (shape.weight.isInteger() && !op.getEncoding())
    return "an integer weight needs an encoding";
  if (shape.integer && shape.zeros > kZeroPoints)
    return "integer products have neither offsets nor codebooks";
  if (op.getInputScales() && llm::columnsOf(op.getInputScales()) > 1)
    return kInputGroups;
  if (shape.group % kSimpleGroup != 0)
    return ("groups must be multiples of " + llvm::Twine(kSimpleGroup) + " columns").str();
  if (shape.integer && (shape.group ? shape.group : shape.k) > kIntegerColumns)
    return ("integer sums are exact up to " + llvm::Twine(kIntegerColumns) + " columns").str();
  return std::nullopt;
}

/// Columns that MatmulSimple sums alone.
int64_t simpleSegment(const MatmulShape &shape) {
  return shape.segment ? shape.segment : kSegmentStep;
}

/// The order of MatmulSimple.
engine::SumsAttr simpleSums(llm::MatmulOp op, const MatmulShape &shape) {
  return sumsOf(op, shape, engine::SumUnit::Columns, 1, 0, simpleSegment(shape));
}

/// Describes a variant of MatmulSimple; false where it cannot read a weight.
bool describeSimple(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
                    int64_t tileRows) {
  describeMatmul(variant, op, shape, simpleSegment(shape));
  variant.integer("group", op.getEncodedWeight().facts().group);
  variant.integer("tile_rows", tileRows);
  if (!addLayouts(variant, op.getEncodedWeight()))
    return false;
  variant.tiles(llvm::divideCeil(shape.rows, kSimpleColumns));
  addRowTiles(variant, op, tileRows);
  return true;
}

/// A variant of MatmulSimple.
FailureOr<KernelVariant> simpleKernel(llm::MatmulOp op, const MatmulShape &shape,
                                      int64_t tileRows) {
  CudaVariant variant("MatmulSimple", op, kSimpleThreads);
  if (!describeSimple(variant, op, shape, tileRows))
    return failure();
  KernelVariant kernel = variant.take();
  kernel.sums = simpleSums(op, shape);
  return kernel;
}

/// A variant of MatmulSimple for any number of rows, beside kernels that have a workspace.
FailureOr<KernelVariant> plainKernel(llm::MatmulOp op, const MatmulShape &shape) {
  CudaVariant variant("MatmulSimple", op, kSimpleThreads);
  if (!describeSimple(variant, op, shape, std::rbegin(kSimpleTiles)->rows))
    return failure();
  variant.workspace(std::to_string(engine::kCounterBytes));
  variant.fact(engine::kPlainKernel, "for comparison only");
  return variant.take();
}

} // namespace

MatmulShape::MatmulShape(llm::MatmulOp op)
    : input(typeOf(op.getInput()).getElementType()),
      weight(typeOf(op.getWeight()).getElementType()), rows(op.expertRows()),
      columns(llm::columnsOf(op.getResult())), k(llm::columnsOf(op.getInput())),
      experts(op.getOrder() || op.getHeads() ? op.experts() : 0),
      group(std::max<int64_t>(op.getEncodedWeight().facts().group, 0)), integer(input.isInteger(8)),
      zeros(op.getEncodedWeight().facts().zeros()), scales(op.getEncodedWeight().facts().scales),
      inputBytes(engine::elementBits(input) / 8), rowDim(rowDimOf(op, op.getResult())), segment(0) {
  if (op.getSums() && op.getSums()->getSegment() >= 0)
    segment = op.getSums()->getSegment() ? op.getSums()->getSegment()
                                         : int64_t(llvm::alignTo(k, kSegmentStep));
}

engine::SumsAttr codegen::sumsOf(llm::MatmulOp op, const MatmulShape &shape, engine::SumUnit unit,
                                 int64_t width, int64_t group, int64_t columns) {
  MLIRContext *context = op.getContext();
  if (!shape.integer)
    return engine::SumsAttr::get(context, unit, width, group, columns < shape.k ? columns : 0);
  int64_t exact = shape.group ? shape.group : shape.k;
  return engine::SumsAttr::get(context, engine::SumUnit::Integers, exact, exact);
}

int64_t MatmulShape::reached(int64_t tokens) const {
  return experts == 0 ? 1 : std::min(experts, tokens * rowDim->each);
}

int64_t MatmulShape::rowsEach(int64_t tokens) const {
  return llvm::divideCeil(tokens * rowDim->each, reached(tokens));
}

void codegen::addRowTiles(CudaVariant &variant, llm::MatmulOp op, int64_t tileRows) {
  if (op.getOrder())
    variant.extent(groupTiles(op.getResult(), op.experts(), tileRows));
  else
    variant.rowsOf(op.getResult(), tileRows, op.experts());
}

void codegen::describeMatmul(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
                             int64_t segment) {
  variant.integer("rows_dim", shape.rowDim->index);
  variant.integer("rows_each", shape.rowDim->each);
  variant.integer("experts", shape.experts);
  if (op.getHeads())
    variant.integer("heads", shape.experts);
  variant.integer("input_share", llm::rowsFor(op.getType(), typeOf(op.getInput())));
  variant.integer("n", shape.columns);
  variant.integer("weight_rows", shape.rows);
  variant.integer("k", shape.k);
  variant.integer("segment", segment);
  variant.type("input_type", op.getInput());
  variant.type("result_type", op.getResult());
  variant.integer("integer", shape.integer);
  variant.weight(op.getEncodedWeight());
  variant.integer("input_scales", op.getInputScales() ? 1 : 0);
  variant.integer("pair_offset", op.getPairOffset().value_or(0));
  variant.regionOperands(op.getEpilogueOperands(), op.getResult(), kEpilogueOperands);
}

engine::LayoutAttr codegen::cudaMatmulLayout(llm::MatmulOp op, unsigned operand) {
  if (auto layout = tensorLayout(op, MatmulShape(op), operand))
    return layout;
  return rowMajorLayout(typeOf(op->getOperand(operand)));
}

llvm::SmallVector<engine::SumsAttr> codegen::cudaMatmulSums(llm::MatmulOp op,
                                                            const CudaArchitecture &architecture) {
  MatmulShape shape(op);
  if (obstacle(op, shape))
    return {};
  auto orders = tensorSums(op, shape, architecture);
  if (orders.empty())
    orders.push_back(simpleSums(op, shape));
  return orders;
}

Declined codegen::addMatmulKernels(llm::MatmulOp op, const CudaArchitecture &architecture,
                                   llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  MatmulShape shape(op);
  if (Declined reason = obstacle(op, shape))
    return reason;
  int64_t most = mostOf(declared, shape.rowDim->dim), least = 1;
  addTensorKernels(op, shape, architecture, most, kernels);
  if (!kernels.empty())
    return std::nullopt;
  for (const SimpleTile &tile : kSimpleTiles) {
    FailureOr<KernelVariant> kernel = simpleKernel(op, shape, tile.rows);
    if (failed(kernel))
      return "a layout of the weight has too many digits";
    bool last = most <= tile.most;
    if (!last)
      kernel->ranges = {RangeAttr::get(op.getContext(), shape.rowDim->dim, least, tile.most)};
    kernels.push_back(std::move(*kernel));
    if (last)
      break;
    least = tile.most + 1;
  }
  return std::nullopt;
}

void codegen::addMatmulCandidates(llm::MatmulOp op, const CudaArchitecture &architecture,
                                  llvm::ArrayRef<RangeAttr> declared, Kernels &kernels) {
  MatmulShape shape(op);
  if (obstacle(op, shape))
    return;
  size_t before = kernels.size();
  addTensorCandidates(op, shape, architecture, mostOf(declared, shape.rowDim->dim), kernels);
  if (kernels.size() == before)
    return;
  // Another way to the same numbers, and one that knows nothing of packed weights but their digits.
  if (FailureOr<KernelVariant> plain = plainKernel(op, shape); succeeded(plain))
    kernels.push_back(std::move(*plain));
}
