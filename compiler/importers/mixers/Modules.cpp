// SPDX-License-Identifier: Apache-2.0
// Sites are set before what they name.
#include "compiler/importers/mixers/Modules.h"

#include "compiler/checkpoint/config/LayerPlan.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Value Modules::norm(Value x, const std::string &name) {
  step.setSite(siteOf(name));
  Value bias = config.norm == checkpoint::NormKind::LayerBias
                   ? step.weight(name + ".bias", {hidden})
                   : Value();
  return step.norm(x, isCentered(), normWeight(name + ".weight", hidden), bias, config.normEpsilon);
}

Value Modules::normWeight(StringRef name, int64_t columns) {
  Value weight = step.weight(name, {columns});
  return config.normsLessOne ? step.plusOne(weight) : weight;
}

Value Modules::project(Value x, const std::string &prefix, StringRef name, int64_t outputs,
                       int64_t inputs, bool hasBias, function_ref<Value(Value)> ordered) {
  step.setSite(siteOf(prefix) + name);
  std::string tensor = prefix + name.str();
  Value weight = step.matrix(tensor + ".weight", outputs, inputs, config.inputsFirst);
  Value bias = hasBias ? step.weight(tensor + ".bias", {outputs}) : Value();
  if (ordered) {
    weight = ordered(weight);
    bias = bias ? ordered(bias) : bias;
  }
  return step.linear(x, weight, bias);
}

Value Modules::tempered(Value q, const checkpoint::AttentionTemperature &temperature) {
  if (temperature.scale == 0)
    return q;
  std::vector<float> scales;
  for (int64_t position = 0; position < maxContext; ++position) {
    auto steps = (static_cast<uint64_t>(position) + temperature.shift) / temperature.floorScale;
    scales.push_back(
        static_cast<float>(1 + temperature.scale * std::log(1 + static_cast<double>(steps))));
  }
  return step.scaledRows(q, step.literal("rope.query_scale", scales));
}

Value Modules::convolution(Value x, Value state, const std::string &name, uint64_t taps,
                           bool hasBias) {
  const int64_t columns = llm::columnsOf(x), inputs = static_cast<int64_t>(taps);
  Value weight = step.weight(name + ".weight", {columns, 1, inputs}),
        bias = hasBias ? step.weight(name + ".bias", {columns}) : Value();
  return step.causalConv(x, state, step.reshape(weight, {columns, inputs}), bias);
}
