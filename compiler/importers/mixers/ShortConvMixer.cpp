// SPDX-License-Identifier: Apache-2.0
// A short convolution between gates.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::ShortConv;

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &model, const ShortConv &conv) {
  auto row = RankedTensorType::get({static_cast<int64_t>(conv.taps) - 1, model.hidden},
                                   Float32Type::get(context));
  return {llm::StateType::get(context, row, kKvBlockTokens)};
}

Value compiler::mixTokens(Modules &model, const ShortConv &conv, Value x, const std::string &prefix,
                          ArrayRef<Value> caches) {
  StepBuilder &step = model.step;
  const int64_t hidden = model.hidden, taps = static_cast<int64_t>(conv.taps);
  Value gates = model.project(x, prefix, "conv.in_proj", 3 * hidden, hidden, conv.bias);
  step.setSite(Modules::siteOf(prefix) + "conv");
  Value before = step.sliceColumns(gates, 0, hidden),
        behind = step.sliceColumns(gates, hidden, hidden),
        input = step.times(before, step.sliceColumns(gates, 2 * hidden, hidden));
  std::string name = prefix + "conv.conv";
  Value weight = step.reshape(step.weight(name + ".weight", {hidden, 1, taps}), {hidden, taps}),
        bias = conv.bias ? step.weight(name + ".bias", {hidden}) : Value();
  Value mixed = step.times(behind, step.causalConv(input, caches.front(), weight, bias));
  return model.project(mixed, prefix, "conv.out_proj", hidden, hidden, conv.bias);
}
