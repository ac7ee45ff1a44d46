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
    if (product.getOrder())
      return "the weights are stacked by expert";
    if (product.getEncodingAttr() != first.getEncodingAttr() ||
        getElementTypeOrSelf(product.getWeight()) != getElementTypeOrSelf(first.getWeight()))
      return "the weights have different formats";
    if (llm::hasCodeBook(product.getEncodingAttr()) &&
        !isSameBook(product.getZeros(), first.getZeros()))
      return "the weights have different code books";
    if (product.getEncoding() && product.getEncoding()->getScales() == llm::ScaleForm::Table &&
        !isSameBook(product.getSupers(), first.getSupers()))
      return "the weights have different tables of scales";
    if (product.getEncoding() && product.getEncoding()->getGroup() == -1)
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

/// Stacked, what `get` picks from each product.
static Value stackOf(OpBuilder &builder, Location loc, ArrayRef<llm::MatmulOp> products,
                     function_ref<Value(llm::MatmulOp)> get) {
  return stackRows(builder, loc, llvm::map_to_vector(products, get));
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
  if (!report.accepts(first))
    return;

  OpBuilder builder(first);
  Location loc = atSite(builder.getContext(), site);
  using llm::MatmulOp;
  Value weight = stackOf(builder, loc, products, [](MatmulOp op) { return op.getWeight(); });
  Value scales = stackOf(builder, loc, products, [](MatmulOp op) { return op.getScales(); });
  Value zeros = llm::hasCodeBook(first.getEncodingAttr())
                    ? first.getZeros()
                    : stackOf(builder, loc, products, [](MatmulOp op) { return op.getZeros(); });
  Value supers = llm::hasRowSupers(first.getEncodingAttr())
                     ? stackOf(builder, loc, products, [](MatmulOp op) { return op.getSupers(); })
                     : first.getSupers();
  SmallVector<Value> operands;
  for (size_t i = 0; i < first.getEpilogueOperands().size(); ++i)
    operands.push_back(
        stackOf(builder, loc, products, [i](MatmulOp op) { return op.getEpilogueOperands()[i]; }));
  int64_t columns = cast<RankedTensorType>(weight.getType()).getShape().front();
  auto merged = MatmulOp::create(
      builder, loc, llm::withColumns(first.getType(), columns), first.getInput(), weight,
      first.getInputScales(), scales, zeros, supers, operands, /*order=*/Value(),
      /*starts=*/Value(), first.getEncodingAttr(), IntegerAttr(), engine::SumsAttr());
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
