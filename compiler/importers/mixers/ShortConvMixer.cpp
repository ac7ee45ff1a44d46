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
  const int64_t hidden = model.hidden;
  Value gates = model.project(x, prefix, "conv.in_proj", 3 * hidden, hidden, conv.bias);
  step.setSite(Modules::siteOf(prefix) + "conv");
  Value before = step.sliceColumns(gates, 0, hidden),
        behind = step.sliceColumns(gates, hidden, hidden),
        input = step.times(before, step.sliceColumns(gates, 2 * hidden, hidden));
  Value mixed = step.times(
      behind, model.convolution(input, caches.front(), prefix + "conv.conv", conv.taps, conv.bias));
  return model.project(mixed, prefix, "conv.out_proj", hidden, hidden, conv.bias);
}
