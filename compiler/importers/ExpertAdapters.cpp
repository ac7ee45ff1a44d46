// SPDX-License-Identifier: Apache-2.0
// Adapters of experts that were trained in a stack, as the PEFT library does it for
// `target_parameters`: its `ParamWrapper` says how the factors lie.
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/importers/StepBuilder.h"
#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

std::optional<StepBuilder::StackFactors> StepBuilder::stackFactors(StringRef stack, int64_t columns,
                                                                   int64_t rows) {
  std::string names[] = {checkpoint::adapterTensor(stack.str(), 'A'),
                         checkpoint::adapterTensor(stack.str(), 'B')};
  const checkpoint::Tensor *first = checkpoint.find(names[0]);
  if (!first && !checkpoint.find(names[1]))
    return std::nullopt;
  auto experts = static_cast<int64_t>(checkpoint.config().firstExperts()->count);
  StackFactors factors;
  if (first && !first->shape.empty())
    factors.rank = std::max<int64_t>(1, static_cast<int64_t>(first->shape[0]) / experts);
  factors.right = weight(names[0], {experts * factors.rank, columns});
  // A row of the second factor has the experts' numbers in turn: each expert's together is a row of
  // the transposed one.
  Value second = weight(names[1], {rows, factors.rank * experts});
  Value byExpert = transpose(reshape(second, {rows * factors.rank, experts}));
  factors.left = reshape(byExpert, {experts * rows, factors.rank});
  factors.scale = checkpoint.adapter()->scale(stack.str(), static_cast<uint64_t>(factors.rank));
  return factors;
}

Value StepBuilder::adaptedExpert(const checkpoint::ExpertMatrix &matrix, Value weight) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  auto factors = stackFactors(matrix.stack, shape[1], matrix.rows);
  if (!factors)
    return weight;
  Value left = sliceRows(factors->left, matrix.expert * matrix.rows + matrix.first, shape[0]);
  Value right = sliceRows(factors->right, matrix.expert * factors->rank, factors->rank);
  return addLowRank(weight, left, right, factors->scale);
}

/// The stack has each expert's matrix transposed: [experts * columns, rows].
Value StepBuilder::adaptedStack(StringRef name, Value weight) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  auto experts = static_cast<int64_t>(checkpoint.config().firstExperts()->count);
  int64_t columns = shape[0] / experts, rows = shape[1];
  auto factors = stackFactors(name, columns, rows);
  if (!factors)
    return weight;
  SmallVector<Value> parts;
  for (int64_t expert = 0; expert < experts; ++expert) {
    Value left = transpose(sliceRows(factors->right, expert * factors->rank, factors->rank));
    Value right = transpose(sliceRows(factors->left, expert * rows, rows));
    parts.push_back(
        addLowRank(sliceRows(weight, expert * columns, columns), left, right, factors->scale));
  }
  return llm::ConcatRowsOp::create(weights, weight.getLoc(), weight.getType(), parts);
}
