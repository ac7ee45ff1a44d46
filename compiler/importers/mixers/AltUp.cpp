// SPDX-License-Identifier: Apache-2.0
// Alternating Updates (arXiv 2301.13310) as Gemma 3n has them: n streams of which a layer's mixers
// read the active one; the others follow by small matrices of coefficients for each token. And
// LAuReL (arXiv 2411.07501), a product of low rank beside attention.
#include "compiler/importers/mixers/Mixers.h"

#include <numbers>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// The mean of the squares of each row, [T, 1].
static Value meanSquares(Modules &model, Value x) {
  return model.step.rowMeans(model.step.times(x, x));
}

/// `x` with the magnitude of rows whose mean squares are `target`.
static Value withMagnitude(Modules &model, Value x, Value target) {
  constexpr double leastSquare = 1e-5;
  return model.step.elements(
      {x, target, meanSquares(model, x)}, [](ElementFunctions &element, ValueRange v) {
        Value magnitude = element.root(element.atLeast(v[2], leastSquare));
        return element.quotient(element.product(v[0], element.root(v[1])), magnitude);
      });
}

Streams compiler::spread(Modules &model, Value x) {
  Streams streams{x};
  model.step.setSite("altup_projections");
  Value target = meanSquares(model, x);
  for (uint64_t i = 1; i < model.config.altUp.streams; ++i) {
    Value own = model.project(x, "model.", "altup_projections." + std::to_string(i - 1),
                              model.hidden, model.hidden, /*hasBias=*/false);
    streams.push_back(withMagnitude(model, own, target));
  }
  return streams;
}

Value compiler::joined(Modules &model, const Streams &streams) {
  StepBuilder &step = model.step;
  step.setSite("altup_unembed_projections");
  Value sum = streams.front(), target = meanSquares(model, sum);
  for (size_t i = 1; i < streams.size(); ++i) {
    Value own =
        model.project(streams[i], "model.", "altup_unembed_projections." + std::to_string(i - 1),
                      model.hidden, model.hidden, /*hasBias=*/false);
    sum = step.add(sum, withMagnitude(model, own, target));
  }
  return step.multiply(sum, 1 / static_cast<double>(streams.size()));
}

/// For each token what its coefficients are made of: tanh(W_r n(x) / hidden), [T, streams].
static Value modalities(Modules &model, Value x, const std::string &prefix) {
  Value normed = model.norm(x, prefix + "altup.router_norm");
  Value routed =
      model.project(normed, prefix, "altup.modality_router",
                    static_cast<int64_t>(model.config.altUp.streams), model.hidden, false);
  return model.step.elements(routed, [&](ElementFunctions &element, ValueRange v) {
    return element.tanh(
        element.product(v[0], element.constant(1 / static_cast<double>(model.hidden))));
  });
}

Streams compiler::predicted(Modules &model, const Streams &streams, const std::string &prefix) {
  StepBuilder &step = model.step;
  const auto count = static_cast<int64_t>(streams.size());
  Value coefficients =
      model.project(modalities(model, streams[model.config.altUp.active], prefix), prefix,
                    "altup.prediction_coefs", count * count, count, /*hasBias=*/false);
  Streams result;
  for (int64_t i = 0; i < count; ++i) {
    Value sum = streams[i];
    auto factor = [&](int64_t j) { return step.sliceColumns(coefficients, i * count + j, 1); };
    for (int64_t j = 0; j < count; j += 2) {
      SmallVector<Value> inputs{sum, streams[j], factor(j)};
      if (j + 1 < count)
        inputs.append({streams[j + 1], factor(j + 1)});
      sum = step.elements(inputs, [](ElementFunctions &element, ValueRange v) {
        Value sum = v[0];
        for (size_t k = 1; k < v.size(); k += 2)
          sum = element.sum(sum, element.product(v[k], v[k + 1]));
        return sum;
      });
    }
    result.push_back(sum);
  }
  return result;
}

Streams compiler::corrected(Modules &model, const Streams &predicted, Value y,
                            const std::string &prefix) {
  StepBuilder &step = model.step;
  const auto count = static_cast<int64_t>(predicted.size());
  Value coefficients = model.project(modalities(model, y, prefix), prefix, "altup.correction_coefs",
                                     count, count, /*hasBias=*/false);
  Value active = predicted[model.config.altUp.active];
  Streams result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(step.elements(
        {predicted[i], y, active, step.sliceColumns(coefficients, i, 1)},
        [](ElementFunctions &element, ValueRange v) {
          Value factor = element.sum(v[3], element.constant(1));
          return element.sum(v[0], element.product(element.difference(v[1], v[2]), factor));
        }));
  return result;
}

void compiler::addLayerInput(Modules &model, Streams &streams, Value input,
                             const std::string &prefix) {
  StepBuilder &step = model.step;
  Value gating = streams[model.config.altUp.active];
  if (model.config.altUp.scales) {
    const std::string scale = prefix + "altup.correct_output_scale";
    step.setSite(Modules::siteOf(scale));
    gating = step.times(gating, step.weight(scale, {model.hidden}));
  }
  Value term = layerInputTerm(model, gating, input, prefix);
  for (Value &stream : MutableArrayRef(streams).drop_front())
    stream = step.add(stream, term);
}

Value compiler::withLaurel(Modules &model, Value y, Value x, const std::string &prefix) {
  const auto rank = static_cast<int64_t>(model.config.laurelRank);
  Value low = model.project(x, prefix, "laurel.linear_left", rank, model.hidden, false);
  Value wide = model.project(low, prefix, "laurel.linear_right", model.hidden, rank, false);
  Value own = model.norm(wide, prefix + "laurel.post_laurel_norm");
  return model.step.elements({y, x, own}, [](ElementFunctions &element, ValueRange v) {
    return element.quotient(element.sum(element.sum(v[0], v[1]), v[2]),
                            element.constant(std::numbers::sqrt2));
  });
}
