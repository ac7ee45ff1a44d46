// SPDX-License-Identifier: Apache-2.0
// Reads products and what stands before them off the imported graph, so that no family says it
// again.
#include "compiler/importers/Products.h"

#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// The stored tensor whose rows `weight` is, in whatever order; null for other expressions.
llm::WeightOp storedMatrix(Value weight) {
  if (auto permute = weight.getDefiningOp<llm::PermuteRowsOp>())
    weight = permute.getInput();
  auto op = weight.getDefiningOp<llm::WeightOp>();
  return op && op.getType().getRank() == 2 && isa<FloatType>(op.getType().getElementType())
             ? op
             : llm::WeightOp();
}

/// The numbers of a norm, which no other operation reads.
struct NormNumbers {
  llm::WeightOp weight;
  bool lessOne = false;
};

std::optional<NormNumbers> normNumbers(Value value) {
  NormNumbers numbers;
  if (!value || !value.hasOneUse())
    return std::nullopt;
  if (auto convert = value.getDefiningOp<llm::ConvertOp>()) {
    numbers.lessOne = true;
    value = convert.getInput();
    if (!value.hasOneUse())
      return std::nullopt;
  }
  numbers.weight = value.getDefiningOp<llm::WeightOp>();
  return numbers.weight ? std::optional(numbers) : std::nullopt;
}

/// The operand that `op` multiplies something by which does not depend on it; null where there is
/// none.
Value factorOf(llm::PointwiseOp op) {
  Block &body = op.getBody().front();
  auto product = body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  for (Value side : {product.getLhs(), product.getRhs()}) {
    auto argument = dyn_cast<BlockArgument>(side);
    if (argument && argument.getOwner() == &body && argument.hasOneUse())
      return op.getInputs()[argument.getArgNumber()];
  }
  return {};
}

/// The product whose result `value` is, where nothing else reads it.
llm::MatmulOp onlyProduct(Value value) {
  auto product = value ? value.getDefiningOp<llm::MatmulOp>() : llm::MatmulOp();
  return product && !product.getOrder() && value.hasOneUse() ? product : llm::MatmulOp();
}

/// The values that attention over `cache` reads, if as many heads read as were written.
Value attendedValues(llm::AttentionOp attention) {
  for (Operation *user : attention.getCache().getUsers())
    if (auto append = dyn_cast<llm::KvAppendOp>(user))
      if (append.getValues().getType() == attention.getResult().getType())
        return append.getValues();
  return {};
}

class GroupReader {
public:
  explicit GroupReader(ProductGroup &group) : group(group) {}

  void read(Value input) {
    if (!input.hasOneUse())
      group.whyNone = "its input is read by others";
    else if (auto norm = input.getDefiningOp<llm::NormOp>())
      ofNorm(norm);
    else if (auto pointwise = input.getDefiningOp<llm::PointwiseOp>())
      ofProduct(factorOf(pointwise), "its input is no multiple of a product");
    else if (auto attention = input.getDefiningOp<llm::AttentionOp>())
      ofProduct(attendedValues(attention), "heads of values are shared by several of queries");
    else
      group.whyNone = "its input is not made by a norm or a product";
  }

private:
  void ofNorm(llm::NormOp norm) {
    auto numbers = normNumbers(norm.getWeight());
    std::optional<NormNumbers> bias;
    if (norm.getBias())
      bias = normNumbers(norm.getBias());
    if (!numbers || (norm.getBias() && !bias)) {
      group.whyNone = "its norm has no numbers of its own";
      return;
    }
    group.source = ProductGroup::Source::Norm;
    group.sourceWeight = numbers->weight.getName().str();
    group.lessOne = numbers->lessOne;
    if (bias)
      group.sourceBias = bias->weight.getName().str();
  }

  void ofProduct(Value value, StringRef otherwise) {
    llm::MatmulOp product = onlyProduct(value);
    auto weight = product ? product.getWeight().getDefiningOp<llm::WeightOp>() : llm::WeightOp();
    if (!weight || !weight->hasOneUse() || weight.getType().getDimSize(0) != group.columns) {
      group.whyNone = otherwise.str();
      return;
    }
    group.source = ProductGroup::Source::Product;
    group.sourceWeight = weight.getName().str();
  }

  ProductGroup &group;
};

/// A tap of `value`, called `name`.
Value tapOf(Value value, StringRef name, Operation *reader) {
  OpBuilder builder(reader);
  if (Operation *maker = value.getDefiningOp())
    builder.setInsertionPointAfter(maker);
  return llm::BoundaryOp::create(builder, reader->getLoc(), value.getType(), value,
                                 builder.getStringAttr(name));
}

void tapCaches(func::FuncOp step, ProductList &list) {
  step.walk([&](llm::KvAppendOp append) {
    const std::string number = std::to_string(list.caches.size());
    CacheInputs inputs{"keys of cache " + number, "values of cache " + number};
    append.getKeysMutable().assign(tapOf(append.getKeys(), inputs.keys, append));
    append.getValuesMutable().assign(tapOf(append.getValues(), inputs.values, append));
    list.caches.push_back(std::move(inputs));
  });
}

} // namespace

ProductList compiler::tapProducts(ModuleOp module, bool caches) {
  ProductList list;
  auto step = module.lookupSymbol<func::FuncOp>(schema::program::step);
  llvm::MapVector<Value, SmallVector<llm::MatmulOp>> byInput;
  step.walk([&](llm::MatmulOp op) {
    llm::WeightOp weight = storedMatrix(op.getWeight());
    auto other = [&](const char *reason) {
      std::string site;
      if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
        site = name.getName().str();
      list.others.push_back({site, reason});
    };
    if (op.getOrder())
      return other("experts are not calibrated");
    if (!weight || !op.getWeight().hasOneUse())
      return other("its matrix is not a stored one, outputs first, of its own");
    byInput[op.getInput()].push_back(op);
  });
  for (auto &[input, products] : byInput) {
    ProductGroup group;
    group.columns = cast<RankedTensorType>(input.getType()).getShape().back();
    for (llm::MatmulOp op : products) {
      llm::WeightOp weight = storedMatrix(op.getWeight());
      group.products.push_back(
          {weight.getName().str(), weight.getType().getDimSize(0), weight.getType().getDimSize(1)});
    }
    group.tap = "input of " + group.products.front().weight;
    Value tap = tapOf(input, group.tap, products.front());
    for (llm::MatmulOp op : products)
      op.getInputMutable().assign(tap);
    GroupReader(group).read(input);
    list.groups.push_back(std::move(group));
  }
  if (caches) // behind what looks through appended values
    tapCaches(step, list);
  return list;
}
