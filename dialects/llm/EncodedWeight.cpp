// SPDX-License-Identifier: Apache-2.0
// The tensors of a weight.
#include "dialects/llm/EncodedWeight.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#include "dialects/llm/EncodedWeight.cpp.inc"

using Tensor = EncodedWeight::Tensor;

/// In the order of operands.
static constexpr std::pair<Tensor, StringLiteral> kTensors[] = {
    {&EncodedWeight::values, "weight"},
    {&EncodedWeight::scales, "scales"},
    {&EncodedWeight::zeros, "zeros"},
    {&EncodedWeight::superScales, "super_scales"}};

/// Whether a weight in `encoding` has the tensor.
static bool has(EncodingAttr encoding, Tensor tensor) {
  if (tensor == &EncodedWeight::values)
    return true;
  if (!encoding)
    return false;
  if (tensor == &EncodedWeight::zeros)
    return encoding.facts().zeros() != kNoZeros;
  return tensor == &EncodedWeight::scales || encoding.facts().hasSuperScales();
}

/// Whether the tensor, of a weight in `encoding`, has rows for those of the weight.
static bool hasRows(const Encoding &encoding, Tensor tensor) {
  if (tensor == &EncodedWeight::scales)
    return encoding.group >= 0;
  if (tensor == &EncodedWeight::zeros)
    return encoding.group >= 0 && !encoding.hasCodeBook();
  return tensor == &EncodedWeight::values || encoding.scales == kBlockScales;
}

SmallVector<StringRef, 3> llm::partNames(EncodingAttr encoding) {
  SmallVector<StringRef, 3> names;
  for (auto [tensor, name] : ArrayRef(kTensors).drop_front())
    if (has(encoding, tensor))
      names.push_back(name);
  return names;
}

EncodedWeight EncodedWeight::of(Value values, ValueRange parts, EncodingAttr encoding) {
  EncodedWeight weight{.values = values, .encoding = encoding};
  for (auto [tensor, name] : ArrayRef(kTensors).drop_front())
    if (has(encoding, tensor) && !parts.empty()) {
      weight.*tensor = parts.front();
      parts = parts.drop_front();
    }
  return weight;
}

SmallVector<Value, 3> EncodedWeight::parts() const {
  SmallVector<Value, 3> parts;
  for (auto [tensor, name] : ArrayRef(kTensors).drop_front())
    if (this->*tensor)
      parts.push_back(this->*tensor);
  return parts;
}

StringRef EncodedWeight::roleOf(Value tensor) const {
  for (auto [own, name] : kTensors)
    if (this->*own == tensor)
      return name;
  return "";
}

bool EncodedWeight::hasRows(Value tensor) const {
  return llvm::any_of(kTensors, [&](const auto &own) {
    return this->*own.first == tensor && ::hasRows(facts(), own.first);
  });
}

EncodedWeight EncodedWeight::mapRows(function_ref<Value(Value)> map, ArrayRef<Tensor> order) const {
  static constexpr Tensor inOrder[] = {&EncodedWeight::values, &EncodedWeight::scales,
                                       &EncodedWeight::zeros, &EncodedWeight::superScales};
  EncodedWeight result = *this;
  for (Tensor tensor : order.empty() ? ArrayRef(inOrder) : order)
    if (result.*tensor && ::hasRows(facts(), tensor))
      result.*tensor = map(this->*tensor);
  return result;
}

EncodedWeight EncodedWeight::mapRows(ArrayRef<EncodedWeight> weights,
                                     function_ref<Value(ArrayRef<Value>)> map) {
  EncodedWeight result = weights.front();
  for (auto [tensor, name] : kTensors)
    if (result.*tensor && ::hasRows(result.facts(), tensor))
      result.*tensor = map(llvm::map_to_vector(
          weights, [&](const EncodedWeight &weight) { return weight.*tensor; }));
  return result;
}

bool llm::isQuantizableMatrix(Operation *op) {
  auto type = op->getNumResults() ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                  : RankedTensorType();
  if (!op->hasTrait<QuantizableRoot>() || !type || type.getRank() != 2)
    return false;
  auto isPart = [](Operation *user) { return user->hasTrait<WeightExpression>(); };
  return llvm::none_of(op->getUsers(), [&](Operation *user) {
    bool stacks = user->hasTrait<StacksMatrices>() && llvm::none_of(user->getUsers(), isPart);
    return isPart(user) && !stacks;
  });
}
