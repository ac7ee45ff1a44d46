// SPDX-License-Identifier: Apache-2.0
// Constants, grids and scratch of the shared templates.
#include "codegen/native/NativeKernels.h"

#include "codegen/VariantBuilder.h"
#include "codegen/native/kernels/DescendingOrder.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmStateOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// A variant of `source` with a tile per row of `rows` and integer constants.
static engine::KernelVariant
rowKernel(llvm::StringRef source, Value rows,
          llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> constants) {
  Builder builder(rows.getContext());
  SmallVector<NamedAttribute> attributes;
  for (auto [name, value] : constants)
    attributes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  engine::KernelVariant variant;
  variant.source = source.str();
  variant.constants = builder.getDictionaryAttr(attributes);
  variant.grid = {llm::rowsOf(cast<RankedTensorType>(rows.getType()))};
  return variant;
}

engine::KernelVariant codegen::sampleKernel(llm::SampleOp op) {
  int64_t vocabulary = llm::columnsOf(op.getLogits());
  engine::KernelVariant variant = rowKernel("Sample", op.getTokens(),
                                            {{"vocabulary", vocabulary},
                                             {"bias_columns", llm::columnsOf(op.getBiasIds())},
                                             {"top_columns", llm::columnsOf(op.getTopTokens())}});
  // Two rows of floats, and the order of either.
  variant.scratchBytes = 8 * vocabulary + DescendingOrder::scratchBytes(vocabulary);
  return variant;
}

static int64_t elementBytesOf(Value tensor) {
  return engine::elementBits(cast<RankedTensorType>(tensor.getType()).getElementType()) / 8;
}

engine::KernelVariant codegen::gatherRowsKernel(llm::GatherRowsOp op) {
  int64_t rowBytes = llm::columnsOf(op.getInput()) * elementBytesOf(op.getInput());
  return rowKernel("CopyRows", op.getResult(),
                   {{"input_row_bytes", rowBytes},
                    {"first_byte", 0},
                    {"result_row_bytes", rowBytes},
                    {"gather", 1}});
}

engine::KernelVariant codegen::sliceColumnsKernel(llm::SliceColumnsOp op) {
  int64_t bytes = elementBytesOf(op.getInput());
  return rowKernel("CopyRows", op.getResult(),
                   {{"input_row_bytes", llm::columnsOf(op.getInput()) * bytes},
                    {"first_byte", int64_t(op.getFirst()) * bytes},
                    {"result_row_bytes", llm::columnsOf(op.getResult()) * bytes},
                    {"gather", 0}});
}

engine::KernelVariant codegen::gatherColumnsKernel(llm::GatherColumnsOp op) {
  return rowKernel("GatherColumns", op.getResult(),
                   {{"input_columns", llm::columnsOf(op.getInput())},
                    {"columns", llm::columnsOf(op.getResult())},
                    {"element_bytes", elementBytesOf(op.getInput())}});
}

static int64_t codeOf(Value tensor) {
  return engine::elementTypeOf(cast<RankedTensorType>(tensor.getType()).getElementType());
}

engine::KernelVariant codegen::placeRowsKernel(llm::PlaceRowsOp op) {
  return rowKernel("PlaceRows", op.getResult(),
                   {{"columns", llm::columnsOf(op.getRows())},
                    {"rows_type", codeOf(op.getRows())},
                    {"given_type", codeOf(op.getGiven())},
                    {"added", op.getAdded() ? 1 : 0}});
}

engine::KernelVariant codegen::routeKernel(llm::RouteOp op) {
  VariantBuilder variant("Route", op.getContext());
  variant.routing(op);
  variant.rowsOf(op.getLogits());
  int64_t groups = op.getGroups() ? op.getGroups()->front() : 1;
  return variant.take((llm::columnsOf(op.getLogits()) + groups) * int64_t(sizeof(float)));
}

engine::KernelVariant codegen::combineKernel(llm::CombineOp op) {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  engine::KernelVariant variant =
      rowKernel("Combine", op.getResult(),
                {{"columns", llm::columnsOf(op.getResult())},
                 {"top_k", llm::rowsFor(cast<RankedTensorType>(op.getInput().getType()), result)},
                 {"weighted", op.getWeights() ? 1 : 0},
                 {"input_type", codeOf(op.getInput())},
                 {"result_type", codeOf(op.getResult())}});
  variant.sums = rowSums(op);
  return variant;
}

std::optional<engine::KernelVariant> codegen::groupRowsKernel(llm::GroupRowsOp op) {
  std::optional<RowDim> rows = rowDimOf(op, op.getExperts());
  if (!rows)
    return std::nullopt;
  int64_t experts = cast<RankedTensorType>(op.getStarts().getType()).getDimSize(0) - 1;
  VariantBuilder variant("GroupRows", op.getContext());
  variant.integer("rows_dim", rows->index);
  variant.integer("rows_each", rows->each);
  variant.integer("experts", experts);
  variant.tiles(experts);
  return variant.take();
}

engine::KernelVariant codegen::causalConvKernel(llm::CausalConvOp op) {
  constexpr int64_t kTileColumns = 64;
  VariantBuilder variant("CausalConv", op.getContext());
  variant.causalConv(op);
  variant.integer("tile_columns", kTileColumns);
  variant.rowsOf(op.getBlockTable());
  variant.tiles(llvm::divideCeil(llm::columnsOf(op.getInput()), kTileColumns));
  return variant.take();
}

engine::KernelVariant codegen::selectPositionsKernel(llm::SelectPositionsOp op) {
  llm::KvType cache = op.getCache().getType();
  const int64_t heads = llm::columnsOf(op.getWeights()), most = llm::columnsOf(op.getSelected());
  VariantBuilder variant("SelectPositions", op.getContext());
  variant.cache(cache);
  variant.integer("index_heads", heads);
  variant.type("query_type", op.getQuery());
  variant.type("weights_type", op.getWeights());
  variant.integer("most", most);
  variant.real("scale", op.getScale());
  variant.rowsOf(op.getQuery());
  // The query and a key in f32, and positions with their scores.
  return variant.take(4 * (heads + 1) * cache.getHeadDim() + 8 * most);
}
