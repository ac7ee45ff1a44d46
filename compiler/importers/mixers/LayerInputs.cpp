// SPDX-License-Identifier: Apache-2.0
// Inputs that layers have beside x (Gemma's per-layer embeddings): of a table and of the embedded
// token, and what a layer makes of its own.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Value compiler::layerInputs(Modules &model, Value x) {
  StepBuilder &step = model.step;
  const checkpoint::LayerInputs &inputs = model.config.layerInputs;
  const auto own = static_cast<int64_t>(inputs.columns),
             all = own * static_cast<int64_t>(model.config.layerCount()),
             rows = static_cast<int64_t>(inputs.rows);
  step.setSite("embed_tokens_per_layer");
  Value stored =
      step.multiply(step.embed(step.weight("model.embed_tokens_per_layer.weight", {rows, all})),
                    inputs.multiplier);
  Value projected =
      model.project(x, "model.", "per_layer_model_projection", all, model.hidden, false);
  projected = step.multiply(projected, 1 / std::sqrt(static_cast<double>(model.hidden)));
  const std::string norm = "model.per_layer_projection_norm";
  step.setSite(Modules::siteOf(norm));
  projected = step.norm(projected, model.isCentered(), model.normWeight(norm + ".weight", own),
                        Value(), model.config.normEpsilon, own);
  return step.multiply(step.add(projected, stored), 1 / std::numbers::sqrt2);
}

Value compiler::layerInputTerm(Modules &model, Value y, Value input, const std::string &prefix) {
  StepBuilder &step = model.step;
  const int64_t columns = llm::columnsOf(input);
  Value gate =
      model.project(y, prefix, "per_layer_input_gate", columns, model.hidden, /*hasBias=*/false);
  step.setSite(Modules::siteOf(prefix) + "act_fn");
  Value product = step.activatedTimes({checkpoint::Activation::GeluTanh}, gate, input);
  Value up = model.project(product, prefix, "per_layer_projection", model.hidden, columns, false);
  return model.norm(up, prefix + "post_per_layer_input_norm");
}
