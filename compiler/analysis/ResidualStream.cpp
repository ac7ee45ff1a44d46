// SPDX-License-Identifier: Apache-2.0
// Follows the stream through the graph, from the embedding on, so that no family says it again.
#include "compiler/analysis/ResidualStream.h"

#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/FusionReport.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// Whether the tensor has `width` columns, or is a row of so many weights.
bool isWide(Value tensor, int64_t width) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.getShape().back() == width && (type.getRank() == 2 || isWeight(tensor));
}

/// Whether the same number comes of all columns of a row: `value`, in a point-wise region, does not
/// depend on `wide` arguments.
bool isOfRow(Value value, const llvm::DenseSet<Value> &wide) {
  if (isa<BlockArgument>(value))
    return !wide.contains(value);
  return llvm::all_of(value.getDefiningOp()->getOperands(),
                      [&](Value operand) { return isOfRow(operand, wide); });
}

/// Whether `value` is a sum of multiples of `wide` arguments, with one factor for a row.
bool isLinear(Value value, const llvm::DenseSet<Value> &wide) {
  if (isa<BlockArgument>(value))
    return wide.contains(value);
  Operation *op = value.getDefiningOp();
  auto linear = [&](unsigned i) { return isLinear(op->getOperand(i), wide); };
  auto ofRow = [&](unsigned i) { return isOfRow(op->getOperand(i), wide); };
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return linear(0) && linear(1);
  if (isa<arith::NegFOp>(op))
    return linear(0);
  if (isa<arith::MulFOp>(op))
    return (linear(0) && ofRow(1)) || (ofRow(0) && linear(1));
  return isa<arith::DivFOp>(op) && linear(0) && ofRow(1);
}

/// What is summed into the result of `op`, where that is a sum of multiples; else nothing.
SmallVector<Value> summandsOf(llm::PointwiseOp op) {
  SmallVector<Value> summands;
  llvm::DenseSet<Value> wide;
  Block &body = op.getBody().front();
  for (auto [input, argument] : llvm::zip(op.getInputs(), body.getArguments()))
    if (isWide(input, llm::columnsOf(op.getResult()))) {
      summands.push_back(input);
      wide.insert(argument);
    }
  return isLinear(body.getTerminator()->getOperand(0), wide) ? summands : SmallVector<Value>();
}

/// The stored tensors whose rows, one below the other, are those of `weight`. With `inOrder` they
/// must be so in order. Nothing where it is more than that.
SmallVector<llm::WeightOp> storedRows(Value weight, bool inOrder) {
  if (auto permute = weight.getDefiningOp<llm::PermuteRowsOp>(); permute && !inOrder)
    return storedRows(permute.getInput(), inOrder);
  if (auto stored = weight.getDefiningOp<llm::WeightOp>())
    return {stored};
  SmallVector<llm::WeightOp> tensors;
  if (auto stack = weight.getDefiningOp<llm::ConcatRowsOp>())
    for (Value part : stack.getInputs()) {
      SmallVector<llm::WeightOp> own = storedRows(part, inOrder);
      if (own.empty())
        return {};
      tensors.append(own);
    }
  return tensors;
}

/// A weight whose rows or columns are channels that rotate.
struct Use {
  Value weight;
  Channels rows = Channels::Others, columns = Channels::Others;
  StreamNorm norm = {};               ///< of its columns
  int64_t firstRow = 0, rowCount = 0; ///< of the rows that are; 0: all
};

class StreamReader {
public:
  checkpoint::Expected<ResidualStream> read(func::FuncOp step) {
    for (Operation &op : step.front())
      if (!visit(&op))
        return checkpoint::Error{"INGOT-E2160",
                                 "the model's residual stream cannot be rotated: " + reason,
                                 siteOf(place), "leave rotation out of the recipe"};
    for (auto &[name, tensor] : tensors)
      result.tensors.push_back(std::move(tensor));
    return std::move(result);
  }

private:
  bool refuse(Operation *op, const std::string &why) {
    place = op;
    reason = why;
    return false;
  }

  bool visit(Operation *op) {
    if (auto embed = dyn_cast<llm::EmbedOp>(op))
      if (isa<BlockArgument>(embed.getTokens()) &&
          (result.width == 0 || isWide(embed.getResult(), result.width))) {
        result.width = llm::columnsOf(embed.getResult());
        stream[embed.getResult()] = {};
        return take(op, {{embed.getTable(), Channels::Others, Channels::Stream}});
      }
    if (auto attention = dyn_cast<llm::AttentionOp>(op)) {
      if (std::vector<Use> uses; !usesOfHeads(attention, uses) || !take(op, uses))
        result.keptHeads.push_back(siteOf(op) + ": " + reason);
      return true;
    }
    if (llvm::none_of(op->getOperands(), [&](Value value) { return stream.contains(value); }))
      return true;
    if (auto norm = dyn_cast<llm::NormOp>(op))
      return readNorm(norm);
    if (auto product = dyn_cast<llm::MatmulOp>(op))
      return take(op, {{product.getWeight(), Channels::Others, Channels::Stream,
                        stream.lookup(product.getInput())}});
    if (isa<llm::BoundaryOp, llm::GatherRowsOp>(op)) {
      stream[op->getResult(0)] = StreamNorm(stream.lookup(op->getOperand(0)));
      return true;
    }
    if (auto pointwise = dyn_cast<llm::PointwiseOp>(op))
      return readSum(pointwise);
    return refuse(op, "it is read by " + op->getName().stripDialect().str());
  }

  bool readNorm(llm::NormOp norm) {
    if (norm.getCentered() || norm.getBias())
      return refuse(norm, "a norm of it subtracts the mean, or has a bias");
    if (norm.getHeadDim() || !isPlain(norm.getInput()))
      return refuse(norm, "a norm is of parts of it, or of what was normed");
    StreamNorm &own = stream[norm.getResult()];
    Value numbers = norm.getWeight();
    if (!numbers)
      return true;
    if (auto convert = numbers.getDefiningOp<llm::ConvertOp>()) {
      own.lessOne = true;
      numbers = convert.getInput();
    }
    auto stored = numbers.getDefiningOp<llm::WeightOp>();
    if (!stored || !numbers.hasOneUse())
      return refuse(norm, "a norm of it has no weight of its own");
    own.weight = stored.getName().str();
    result.norms.push_back(own);
    return true;
  }

  /// Whether `value` is the stream itself, or what has the same factor in all channels.
  bool isPlain(Value value) const {
    auto found = stream.find(value);
    return found != stream.end() && found->second.weight.empty();
  }

  bool readSum(llm::PointwiseOp op) {
    std::vector<Use> uses;
    if (!makers(op, Channels::Stream, uses) || !take(op, uses))
      return false;
    stream[op.getResult()] = {};
    return true;
  }

  /// The weights that make the summands of `op`.
  bool makers(llm::PointwiseOp op, Channels channels, std::vector<Use> &uses) {
    SmallVector<Value> summands = summandsOf(op);
    if (summands.empty())
      return refuse(op, "it goes through more than sums and products");
    return llvm::all_of(summands, [&](Value value) { return makers(value, channels, uses); });
  }

  /// The weights that make `value`, whose columns are `channels`.
  bool makers(Value value, Channels channels, std::vector<Use> &uses) {
    if (stream.contains(value))
      return isPlain(value) || refuse(value.getDefiningOp(), "a norm of it is added to it");
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return refuse(op ? op : *value.getUsers().begin(), "what makes it is read elsewhere too");
    if (isWeight(value))
      uses.push_back({value, channels});
    else if (auto product = dyn_cast<llm::MatmulOp>(op))
      uses.push_back({product.getWeight(), channels});
    else if (auto embed = dyn_cast<llm::EmbedOp>(op))
      uses.push_back({embed.getTable(), Channels::Others, channels});
    else if (auto slice = dyn_cast<llm::SliceColumnsOp>(op);
             slice && slice.getInput().getDefiningOp<llm::MatmulOp>())
      uses.push_back({slice.getInput().getDefiningOp<llm::MatmulOp>().getWeight(), channels,
                      Channels::Others, StreamNorm(), static_cast<int64_t>(slice.getFirst()),
                      llm::columnsOf(value)});
    else if (auto pointwise = dyn_cast<llm::PointwiseOp>(op))
      return makers(pointwise, channels, uses);
    else if (isa<llm::BoundaryOp, llm::CombineOp>(op))
      return makers(op->getOperand(0), channels, uses);
    else
      return refuse(op, "it is made by " + op->getName().stripDialect().str());
    return true;
  }

  /// The weights whose channels are heads of values; where that fails they can stay as they are.
  bool usesOfHeads(llm::AttentionOp attention, std::vector<Use> &uses) {
    llm::KvAppendOp append;
    for (Operation *user : attention.getCache().getUsers())
      if (user != attention && (append || !(append = dyn_cast<llm::KvAppendOp>(user))))
        return refuse(attention, "others read its cache");
    const int64_t headDim = cast<llm::KvType>(attention.getCache().getType()).getHeadDim();
    if (!append || (result.headDim != 0 && result.headDim != headDim))
      return refuse(attention, "its heads have another width");
    if (!makers(append.getValues(), Channels::Heads, uses))
      return false;
    Value mixed = attention.getResult();
    auto product =
        mixed.hasOneUse() ? dyn_cast<llm::MatmulOp>(*mixed.getUsers().begin()) : llm::MatmulOp();
    if (!product || product.getInput() != mixed)
      return refuse(attention, "its results go through more than a product");
    uses.push_back({product.getWeight(), Channels::Others, Channels::Heads});
    result.headDim = headDim;
    return true;
  }

  int64_t widthOf(Channels channels) const {
    return channels == Channels::Stream ? result.width : result.headDim;
  }

  static int64_t rowsOf(llm::WeightOp tensor, const Use &use) {
    return use.rowCount != 0 ? use.rowCount : tensor.getType().getShape().front();
  }

  /// Whether whole runs of channels of the tensor rotate, that no other use rotates.
  bool fits(llm::WeightOp tensor, const Use &use) const {
    const auto entry = tensors.find(siteOf(tensor));
    const StreamTensor known = entry == tensors.end() ? StreamTensor() : entry->second;
    if (use.rows != Channels::Others &&
        (known.rows != Channels::Others || use.firstRow % widthOf(use.rows) != 0 ||
         rowsOf(tensor, use) % widthOf(use.rows) != 0))
      return false;
    return use.columns == Channels::Others ||
           (known.columns == Channels::Others &&
            tensor.getType().getShape().back() % widthOf(use.columns) == 0);
  }

  /// Notes the stored tensors of weights that `op` leads to: all, or none.
  bool take(Operation *op, const std::vector<Use> &uses) {
    std::vector<std::pair<llm::WeightOp, const Use *>> found;
    for (const Use &use : uses) {
      SmallVector<llm::WeightOp> stored =
          storedRows(use.weight, /*inOrder=*/use.rows != Channels::Others);
      if (stored.empty())
        return refuse(op, "a matrix is not stored by rows in order");
      for (llm::WeightOp tensor : stored) {
        if (!fits(tensor, use) || (use.rowCount != 0 && stored.size() > 1))
          return refuse(op, tensor.getName().str() + " is read twice, or in parts");
        found.emplace_back(tensor, &use);
      }
    }
    for (auto [tensor, use] : found) {
      StreamTensor &known = tensors[siteOf(tensor)];
      known.stored = tensor.getName().str();
      known.name = siteOf(tensor);
      if (use->rows != Channels::Others) {
        known.rows = use->rows;
        known.firstRow = use->firstRow;
        known.rowCount = rowsOf(tensor, *use);
      }
      if (use->columns != Channels::Others)
        known.columns = use->columns;
      if (!use->norm.weight.empty()) {
        known.norm = use->norm.weight;
        known.lessOne = use->norm.lessOne;
      }
    }
    return true;
  }

  ResidualStream result;
  std::map<std::string, StreamTensor> tensors; ///< by their names
  /// The stream, its norms, and the numbers that multiply their channels.
  llvm::DenseMap<Value, StreamNorm> stream;
  Operation *place = nullptr;
  std::string reason;
};

} // namespace

checkpoint::Expected<ResidualStream> compiler::readResidualStream(ModuleOp module) {
  return StreamReader().read(module.lookupSymbol<func::FuncOp>(schema::program::step));
}
