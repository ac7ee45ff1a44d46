// SPDX-License-Identifier: Apache-2.0
// Feed-forward parts: down(act(gate x) * up x).
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Mlp;

ActivationFunction compiler::activationOf(StepBuilder &step, const Mlp &mlp,
                                          const std::string &name) {
  ActivationFunction function = {mlp.activation, mlp.activationLimit};
  if (mlp.activation == checkpoint::Activation::Xielu) {
    // Two are stored as what softplus makes positive numbers of.
    auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
    XieluNumbers &xielu = function.xielu;
    xielu.beta = step.number(name + "beta", 0.5);
    xielu.eps = step.number(name + "eps", -1e-6);
    xielu.positive = softplus(step.number(name + "alpha_p", 0, /*isNeeded=*/true));
    xielu.negative = xielu.beta + softplus(step.number(name + "alpha_n", 0, /*isNeeded=*/true));
  }
  return function;
}

/// What normal numbers are below with the probability `share`, to 1e-15.
static double normalQuantile(double share) {
  double low = -40, high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
  }
  return high;
}

/// function(max(gate - mean - c * deviation, 0)) * up, of each row's mean and deviation.
static Value cutTimes(Modules &model, const Mlp &mlp, const ActivationFunction &function,
                      Value gate, Value up) {
  constexpr double noDeviation = 1e-20; // a row of equal numbers gives 0
  StepBuilder &step = model.step;
  // l = (gate - mean) / deviation; and the mean of gate * l is the deviation.
  Value l = step.norm(gate, /*centered=*/true, Value(), Value(), noDeviation);
  Value deviation = step.rowMeans(step.times(gate, l));
  return step.elements({l, deviation, up}, [&](ElementFunctions &element, ValueRange v) {
    Value above = element.difference(v[0], element.constant(normalQuantile(mlp.gateSparsity)));
    Value cut = element.product(v[1], element.atLeast(above, 0));
    return element.activatedTimes(function, cut, v[2]);
  });
}

Value compiler::feedForward(Modules &model, const Mlp &mlp, Value x, const std::string &prefix,
                            const std::string &module) {
  StepBuilder &step = model.step;
  const checkpoint::ModuleNames &names = model.names;
  const auto inner = static_cast<int64_t>(mlp.innerSize);
  auto projected = [&](Value input, std::string_view name, int64_t outputs, int64_t inputs) {
    return model.project(input, prefix, module + "." + std::string(name), outputs, inputs,
                         mlp.bias);
  };
  Value gate, up;
  if (mlp.fusedGateUp) {
    Value both = projected(x, names.gateUp, 2 * inner, model.hidden);
    gate = step.sliceColumns(both, 0, inner);
    up = step.sliceColumns(both, inner, inner);
  } else {
    if (mlp.isGated)
      gate = projected(x, names.gate, inner, model.hidden);
    up = projected(x, names.up, inner, model.hidden);
  }
  step.setSite(Modules::siteOf(prefix) + module + ".act_fn");
  if (gate)
    gate = step.multiply(gate, mlp.gateFactor);
  ActivationFunction function = activationOf(step, mlp, prefix + module + ".act_fn.");
  Value product = mlp.gateSparsity != 0 ? cutTimes(model, mlp, function, gate, up)
                  : gate                ? step.activatedTimes(function, gate, up)
                                        : step.activated(function, up);
  return step.multiply(projected(product, names.down, model.hidden, inner), mlp.downFactor);
}

Value compiler::mixChannels(Modules &model, const Mlp &mlp, Value x, const std::string &prefix) {
  return feedForward(model, mlp, x, prefix, std::string(model.names.feedForward));
}
