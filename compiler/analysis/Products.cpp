// SPDX-License-Identifier: Apache-2.0
// Reads products and what stands before them off the imported graph, so that no family says it
// again.
#include "compiler/analysis/Products.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// The stored tensor whose rows, or columns, `weight` is, in whatever order; null for other
/// expressions.
llm::WeightOp storedMatrix(Value weight) {
  if (auto permute = weight.getDefiningOp<llm::PermuteRowsOp>())
    weight = permute.getInput();
  if (auto transpose = weight.getDefiningOp<llm::TransposeOp>())
    weight = transpose.getInput();
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
      group.whyNone = "its norm has no weight of its own";
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

/// A product with `weight`, which storedMatrix() leads to a tensor.
Product describe(Value weight, bool small) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (auto permute = weight.getDefiningOp<llm::PermuteRowsOp>())
    weight = permute.getInput();
  return {storedMatrix(weight).getName().str(), type.getDimSize(0), type.getDimSize(1), small,
          isa_and_nonnull<llm::TransposeOp>(weight.getDefiningOp())};
}

/// A stored matrix in a stack of experts' matrices.
struct StackedMatrix {
  Product product;
  int64_t expert = 0;
  int64_t first = 0;    ///< of the expert's rows
  bool inOrder = false; ///< its rows are as they are stored
};

/// Those of a tensor that has all of them, as it is stored or transposed expert by expert.
std::optional<SmallVector<StackedMatrix>> matricesOfTensor(llm::MatmulOp op,
                                                           const checkpoint::ModelConfig &config) {
  Value value = op.getWeight();
  bool inputsFirst = false;
  for (Operation *op = value.getDefiningOp(); op && op->hasTrait<llm::ReordersElements>();
       op = value.getDefiningOp()) {
    inputsFirst |= isa<llm::TransposeOp>(op);
    value = op->getOperand(0);
  }
  auto stored = value.getDefiningOp<llm::WeightOp>();
  // Programs that quantize take these apart, and importers read what they made.
  const checkpoint::Experts &experts = *config.firstExperts();
  if (!stored || experts.storage != checkpoint::ExpertStorage::Halves)
    return std::nullopt;
  StringRef name = stored.getName();
  SmallVector<StringRef> parts = {experts.down};
  StringRef stack = experts.stackedDown;
  if (name.ends_with(experts.stackedGateUp)) {
    parts = {experts.gate, experts.up};
    stack = experts.stackedGateUp;
  }
  const int64_t rows = op.expertRows() / static_cast<int64_t>(parts.size()),
                columns = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  SmallVector<StackedMatrix> matrices;
  for (int64_t expert = 0; expert < op.experts(); ++expert)
    for (auto [i, part] : llvm::enumerate(parts)) {
      Product product{(name.drop_back(stack.size()) + Twine(expert) + "." + part + ".weight").str(),
                      rows, columns};
      const int64_t first = static_cast<int64_t>(i) * rows;
      product.inputsFirst = inputsFirst;
      product.stack = {name.str(), expert, first, op.expertRows()};
      matrices.push_back({std::move(product), expert, first, true});
    }
  return matrices;
}

/// What the weight of `op` stacks; nothing where that is more than stored matrices, each of one
/// expert.
std::optional<SmallVector<StackedMatrix>> stackedMatrices(llm::MatmulOp op,
                                                          const checkpoint::ModelConfig &config) {
  if (!op.getWeight().hasOneUse())
    return std::nullopt;
  auto stack = op.getWeight().getDefiningOp<llm::ConcatRowsOp>();
  if (!stack)
    return matricesOfTensor(op, config);
  const int64_t rowsEach = op.expertRows();
  SmallVector<StackedMatrix> matrices;
  int64_t row = 0;
  for (Value part : stack.getInputs()) {
    llm::WeightOp weight = storedMatrix(part);
    const int64_t rows = cast<RankedTensorType>(part.getType()).getDimSize(0);
    if (!weight || !part.hasOneUse() || row / rowsEach != (row + rows - 1) / rowsEach)
      return std::nullopt;
    matrices.push_back(
        {describe(part, false), row / rowsEach, row % rowsEach, part == weight.getResult()});
    row += rows;
  }
  return matrices;
}

/// Whether no other columns than those of `slice` are read where it reads its own.
bool readsAlone(llm::SliceColumnsOp slice) {
  auto end = [](llm::SliceColumnsOp op) { return op.getFirst() + llm::columnsOf(op.getResult()); };
  return llvm::all_of(slice.getInput().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<llm::SliceColumnsOp>(user);
    return other &&
           (other == slice || other.getFirst() >= end(slice) || slice.getFirst() >= end(other));
  });
}

/// The name of the matrix of `expert` that makes `value`, some columns of a product with experts'
/// matrices, or of a multiple, which nothing else reads; empty where there is no such one.
std::string onlyMatrix(Value value, int64_t expert, const checkpoint::ModelConfig &config) {
  auto slice = value ? value.getDefiningOp<llm::SliceColumnsOp>() : llm::SliceColumnsOp();
  if (!slice || !slice->hasOneUse() || !readsAlone(slice))
    return {};
  Value whole = slice.getInput();
  if (auto pointwise = whole.getDefiningOp<llm::PointwiseOp>())
    if (whole = factorOf(pointwise); !whole || !whole.hasOneUse())
      return {};
  auto product = whole.getDefiningOp<llm::MatmulOp>();
  if (!product || !product.getOrder())
    return {};
  if (auto matrices = stackedMatrices(product, config))
    for (StackedMatrix &matrix : *matrices)
      if (matrix.expert == expert && matrix.first == static_cast<int64_t>(slice.getFirst()) &&
          matrix.inOrder && matrix.product.rows == llm::columnsOf(value))
        return matrix.product.weight;
  return {};
}

std::string siteOf(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().str() : std::string();
}

class ProductTapper {
public:
  explicit ProductTapper(const checkpoint::ModelConfig &config) : config(config) {}

  ProductList tap(func::FuncOp step, bool caches) {
    llvm::MapVector<Value, SmallVector<llm::MatmulOp>> byInput;
    SmallVector<llm::MatmulOp> routed;
    step.walk([&](llm::MatmulOp op) {
      if (op.getOrder())
        routed.push_back(op);
      else if (isStoredAlone(op.getWeight()))
        byInput[op.getInput()].push_back(op);
      else
        leave(op, "its matrix is not a stored one of its own");
    });
    for (auto &[input, products] : byInput)
      tapGroup(input, products);
    for (llm::MatmulOp op : routed)
      tapExperts(op);
    if (caches) // behind what looks through appended values
      tapCaches(step);
    return std::move(list);
  }

private:
  /// Whether `weight` is a stored matrix that one product reads, or several that leave it as it is.
  static bool isStoredAlone(Value weight) {
    return storedMatrix(weight) && (weight.hasOneUse() || isSmall(weight.getDefiningOp()));
  }

  void leave(llm::MatmulOp op, const char *reason) {
    list.others.push_back({siteOf(op), reason, {}});
    addMatrices(op.getWeight().getDefiningOp(), list.others.back().weights);
  }

  /// Adds the names of the stored matrices that the weight expression `op` reads.
  static void addMatrices(Operation *op, std::vector<std::string> &names) {
    if (op && storedMatrix(op->getResult(0)) && isa<llm::WeightOp>(op))
      names.push_back(cast<llm::WeightOp>(op).getName().str());
    for (Value operand : op ? op->getOperands() : ValueRange())
      addMatrices(operand.getDefiningOp(), names);
  }

  /// The tap that holds `value`, called `name` unless there is one already: a value has one name.
  llm::BoundaryOp tapOf(Value value, const std::string &name) {
    llm::BoundaryOp &tap = taps[value];
    if (!tap)
      tap = value.getDefiningOp<llm::BoundaryOp>();
    if (tap)
      return tap;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    tap = llm::BoundaryOp::create(builder, value.getLoc(), value.getType(), value,
                                  builder.getStringAttr(name));
    return tap;
  }

  void tapCaches(func::FuncOp step) {
    step.walk([&](llm::KvAppendOp append) {
      const std::string number = std::to_string(list.caches.size());
      llm::BoundaryOp keys = tapOf(append.getKeys(), "keys of cache " + number),
                      values = tapOf(append.getValues(), "values of cache " + number);
      append.getKeysMutable().assign(keys);
      append.getValuesMutable().assign(values);
      list.caches.push_back({keys.getSegment().str(), values.getSegment().str()});
    });
  }

  void tapGroup(Value input, ArrayRef<llm::MatmulOp> products) {
    ProductGroup group;
    group.columns = llm::columnsOf(input);
    for (llm::MatmulOp op : products)
      group.products.push_back(describe(op.getWeight(), isSmall(op.getWeight().getDefiningOp())));
    std::string name = "input of " + group.products.front().weight;
    while (!inputNames.insert(name).second) // a small matrix that reads several inputs
      name += " again";
    llm::BoundaryOp tap = tapOf(input, name);
    group.tap = tap.getSegment().str();
    for (llm::MatmulOp op : products)
      op.getInputMutable().assign(tap);
    if (llvm::all_of(products, [](llm::MatmulOp op) { return op.getWeight().hasOneUse(); }))
      GroupReader(group).read(input);
    else
      group.whyNone = "a matrix that reads it reads others too";
    list.groups.push_back(std::move(group));
  }

  /// A group for each expert of a product with experts' matrices.
  void tapExperts(llm::MatmulOp op) {
    auto matrices = stackedMatrices(op, config);
    auto order = op.getOrder().getDefiningOp<llm::GroupRowsOp>();
    auto route = order ? order.getExperts().getDefiningOp<llm::RouteOp>() : llm::RouteOp();
    if (!matrices || !route)
      return leave(op, "its experts cannot be told apart in what is stored");
    Value input = op.getInput();
    auto pointwise = input.getDefiningOp<llm::PointwiseOp>();
    Value scaled = pointwise && input.hasOneUse() ? factorOf(pointwise) : Value();
    RoutedInput routed;
    routed.tap = tapExpertsOf(route, op.experts());
    routed.perToken = route.topK();
    routed.hasTokens = cast<RankedTensorType>(input.getType()).getEncoding() !=
                       cast<RankedTensorType>(op.getOrder().getType()).getEncoding();
    llm::BoundaryOp tap = tapOf(input, "input of " + matrices->front().product.weight);
    op.getInputMutable().assign(tap);
    for (StackedMatrix &matrix : *matrices) {
      if (&matrix == matrices->begin() || matrix.expert != routed.expert) {
        routed.expert = matrix.expert;
        ProductGroup &group = list.groups.emplace_back();
        group.tap = tap.getSegment().str();
        group.columns = llm::columnsOf(input);
        group.routed = routed;
        group.sourceWeight = onlyMatrix(scaled, routed.expert, config);
        if (!group.sourceWeight.empty())
          group.source = ProductGroup::Source::Product;
        else
          group.whyNone = "its input is read by others, or no multiple of a product";
      }
      list.groups.back().products.push_back(std::move(matrix.product));
    }
  }

  /// Taps the experts of all tokens, as numbers, and gives the tap's name.
  std::string tapExpertsOf(llm::RouteOp route, int64_t count) {
    std::string &name = routes[route];
    if (!name.empty())
      return name;
    name = "experts of " + siteOf(route);
    OpBuilder weights(&route->getBlock()->front()), builder(route.getContext());
    builder.setInsertionPointAfter(route);
    SmallVector<float> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    auto type = RankedTensorType::get({count}, builder.getF32Type());
    auto table = llm::LiteralOp::create(weights, route.getLoc(), type, name,
                                        DenseElementsAttr::get(type, ArrayRef(numbers)));
    auto column = llm::ReshapeOp::create(weights, route.getLoc(), type.clone({count, 1}), table);
    auto rows = cast<RankedTensorType>(route.getExperts().getType());
    auto embedded = llm::EmbedOp::create(
        builder, route.getLoc(),
        RankedTensorType::get({ShapedType::kDynamic, 1}, builder.getF32Type(), rows.getEncoding()),
        route.getExperts(), llm::EncodedWeight{column});
    tapOf(embedded, name);
    return name;
  }

  const checkpoint::ModelConfig &config;
  ProductList list;
  llvm::DenseMap<Value, llm::BoundaryOp> taps;
  llvm::StringSet<> inputNames; ///< taps of inputs of products, but for experts'
  llvm::DenseMap<Operation *, std::string> routes;
};

} // namespace

bool compiler::isSmall(Operation *weight) {
  constexpr int64_t fewest = 8;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight->getResult(0).getType()).getShape();
  if (*llvm::min_element(shape) < fewest)
    return true;
  auto chooses = [](Operation *reader) { return isa<llm::RouteOp>(reader); };
  auto leadsToChoice = [&](Operation *reader) {
    return chooses(reader) ||
           (isa<llm::PointwiseOp>(reader) && llvm::any_of(reader->getUsers(), chooses));
  };
  return llvm::any_of(weight->getUsers(), [&](Operation *user) {
    auto embed = dyn_cast<llm::EmbedOp>(user);
    return (embed && embed.getTokens().getDefiningOp<llm::RouteOp>()) ||
           (isa<llm::MatmulOp>(user) && llvm::any_of(user->getUsers(), leadsToChoice));
  });
}

ProductList compiler::tapProducts(ModuleOp module, const checkpoint::ModelConfig &config,
                                  bool caches) {
  return ProductTapper(config).tap(module.lookupSymbol<func::FuncOp>(schema::program::step),
                                   caches);
}
