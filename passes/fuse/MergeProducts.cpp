// SPDX-License-Identifier: Apache-2.0
// Stacking the weights of products that read the same input.
#include "passes/fuse/MergeProducts.h"

#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/StackRows.h"

using namespace mlir;
using namespace ingot;

/// Why `products` cannot become one; empty when they can.
static std::string obstacle(ArrayRef<llm::MatmulOp> products) {
  llm::MatmulOp first = products.front();
  for (llm::MatmulOp product : products) {
    if (product.getInput() != first.getInput() ||
        product.getInputScales() != first.getInputScales())
      return "the products read different inputs";
    if (product.getOrder() || product.getHeads())
      return "the weights are stacked by expert";
    StringRef reason = stackObstacle(first.getEncodedWeight(), product.getEncodedWeight());
    if (!reason.empty())
      return reason.str();
    if (product.getEncodedWeight().extent() == kTensorScale)
      return "one scale per weight: stacking would need them quantized again";
    if (getElementTypeOrSelf(product.getResult()) != getElementTypeOrSelf(first.getResult()))
      return "the results are stored in different types";
    if (product.getPairOffset() || !llvm::all_of(product.getEpilogueOperands(), isWeight))
      return "an epilogue reads activations";
    if (!OperationEquivalence::isRegionEquivalentTo(&product.getEpilogue(), &first.getEpilogue(),
                                                    OperationEquivalence::IgnoreLocations))
      return "the epilogues differ (a bias on some only)";
  }
  return "";
}

void ingot::mergeProducts(FusionReport &report, ArrayRef<llm::MatmulOp> products,
                          const Twine &site) {
  llm::MatmulOp first = products.front();
  for (llm::MatmulOp product : products)
    if (product->isBeforeInBlock(first))
      first = product;
  std::string reason = obstacle(products);
  if (!reason.empty())
    return report.declined(first, reason);
  if (!report.accepts(engine::Fusion::MergeProducts, first))
    return;

  OpBuilder builder(first);
  Location loc = atSite(builder.getContext(), site);
  using llm::MatmulOp;
  llm::EncodedWeight weight = stackRows(
      builder, loc,
      llvm::map_to_vector(products, [](MatmulOp product) { return product.getEncodedWeight(); }));
  SmallVector<Value> operands;
  for (size_t i = 0; i < first.getEpilogueOperands().size(); ++i)
    operands.push_back(stackRows(builder, loc, llvm::map_to_vector(products, [i](MatmulOp product) {
                                   return Value(product.getEpilogueOperands()[i]);
                                 })));
  int64_t columns = cast<RankedTensorType>(weight.values.getType()).getDimSize(0);
  auto merged = MatmulOp::create(builder, loc, llm::withColumns(first.getType(), columns),
                                 first.getInput(), weight, first.getInputScales(), operands);
  merged.getEpilogue().takeBody(first.getEpilogue());

  int64_t column = 0;
  for (MatmulOp product : products) {
    auto slice = llm::SliceColumnsOp::create(builder, product.getLoc(), product.getType(),
                                             merged.getResult(), column);
    column += llm::columnsOf(product.getResult());
    product.replaceAllUsesWith(slice.getResult());
  }
  for (MatmulOp product : products)
    product->erase();
  report.applied(merged);
}
