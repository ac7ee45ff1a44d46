// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: the ones that a router chooses for each token, and one that all go through.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/mixers/Mixers.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Experts;
using checkpoint::ExpertStorage;

namespace {

/// One layer's.
class ExpertsBuilder {
public:
  ExpertsBuilder(Modules &model, const Experts &experts, const std::string &prefix)
      : model(model), step(model.step), experts(experts), prefix(prefix),
        count(static_cast<int64_t>(experts.count)), width(static_cast<int64_t>(experts.innerSize)),
        hidden(experts.latentSize ? static_cast<int64_t>(experts.latentSize) : model.hidden) {}

  /// The experts that each token of `x` goes to, chosen by `chooser`, weighted, and the one that
  /// all go to.
  Value build(Value x, Value chooser) {
    const std::string module = experts.path(), site = Modules::siteOf(prefix).str() + module;
    chooser = routerInput(chooser);
    Value logits = model.project(chooser, prefix, module + std::string(experts.router), count,
                                 model.hidden, experts.biases);
    step.setSite(site + "route");
    StepBuilder::Routing routing =
        step.route(logits, choiceBias(prefix + module), static_cast<int64_t>(experts.perToken),
                   experts.routing);
    Value input = x;
    if (experts.latentSize != 0)
      input = model.project(x, prefix, module + "fc1_latent_proj", hidden, model.hidden,
                            experts.form.bias);
    step.setSite(site + "experts.gate_up_proj");
    std::string name = prefix + module + std::string(experts.stacks) + ".";
    Value both = step.expertLinear(input, gateAndUp(name), routing);
    // What the input is multiplied by may as well multiply the product.
    if (experts.routing.scalesInputs)
      both = step.weighted(both, routing);
    if (experts.biases)
      both = step.addExpertBias(both, inputBiases(name), routing);
    step.setSite(site + "experts.act_fn");
    const ActivationFunction function = activationOf(step, experts.form, name + "act_fn.");
    Value product = experts.form.isGated
                        ? step.activatedTimes(function, step.sliceColumns(both, 0, width),
                                              step.sliceColumns(both, width, width))
                        : step.activated(function, both);
    // What a result is multiplied by may as well multiply what it is a product with.
    if (!experts.routing.expertScale.empty())
      product = step.timesOfExpert(
          product, step.weight(prefix + module + std::string(experts.routing.expertScale), {count}),
          routing);
    step.setSite(site + "experts.down_proj");
    Value rows = step.expertLinear(product, down(name), routing);
    if (experts.biases)
      rows = step.addExpertBias(rows, step.weight(name + "down_proj_bias", {count, model.hidden}),
                                routing);
    step.setSite(site + "combine");
    Value sum = step.combine(rows, routing, !experts.routing.scalesInputs);
    if (experts.latentSize != 0)
      sum = model.project(sum, prefix, module + "fc2_latent_proj", model.hidden, hidden,
                          experts.form.bias);
    if (experts.sharedSize == 0)
      return sum;
    const std::string own = module + std::string(experts.shared);
    checkpoint::Mlp form = experts.form;
    form.innerSize = experts.sharedSize;
    Value shared = feedForward(model, form, x, prefix, own);
    if (experts.sharedGated) {
      Value gate = model.project(x, prefix, own + "_gate", 1, model.hidden, false);
      step.setSite(Modules::siteOf(prefix) + own);
      shared = step.gated(shared, gate);
    }
    step.setSite(StringRef(site).drop_back());
    return step.add(sum, shared);
  }

private:
  /// What the router reads of `x`.
  Value routerInput(Value x) {
    if (experts.routing.inputScale.empty())
      return x;
    const std::string name = prefix + experts.path() + std::string(experts.routing.inputScale);
    step.setSite(Modules::siteOf(name));
    Value normed = step.norm(x, model.isCentered(), step.weight(name, {model.hidden}), Value(),
                             model.config.normEpsilon);
    return step.multiply(normed, 1 / std::sqrt(static_cast<double>(model.hidden)));
  }

  /// What is added to the scores of experts for the choice; `module`: ("model.layers.0.mlp.").
  Value choiceBias(const std::string &module) {
    const checkpoint::Router &router = experts.routing;
    if (router.bias.empty())
      return {};
    SmallVector<int64_t> shape = {count};
    if (router.biasIsRow)
      shape.insert(shape.begin(), 1);
    return step.reshape(step.weight(module + std::string(router.bias), shape), {count});
  }

  /// The gate and up matrices of each expert, or the latter alone, stacked. `name`: of the experts
  /// ("...mlp.experts.").
  Value gateAndUp(const std::string &name) {
    if (experts.storage == ExpertStorage::Turns)
      return byExpertHalves(
          step.expertWeights(gateUpStack(name), count, 2 * width, model.hidden, inputsFirst(name)));
    if (!areApart(name))
      return step.expertWeights(gateUpStack(name), count, 2 * width, model.hidden,
                                inputsFirst(name));
    SmallVector<Value> parts;
    for (int64_t expert = 0; expert < count; ++expert)
      for (std::string_view part : {experts.gate, experts.up})
        if (experts.form.isGated || part == experts.up)
          parts.push_back(expertMatrix(name, expert, part, width, hidden));
    return step.stack(parts);
  }

  std::string gateUpStack(const std::string &name) const {
    return name + std::string(experts.stackedGateUp);
  }
  std::string downStack(const std::string &name) const {
    return name + std::string(experts.stackedDown);
  }

  /// Whether each matrix is a tensor: programs that quantize take stacks apart.
  bool areApart(const std::string &name) const {
    return experts.storage == ExpertStorage::Apart ||
           (experts.storage == ExpertStorage::Halves &&
            step.hasMatrix(name + "0." + std::string(experts.down) + ".weight"));
  }

  /// Whether stacks are [experts, inputs, outputs]: their shapes tell, of one matrix or the other.
  bool inputsFirst(const std::string &name) {
    if (experts.storage == ExpertStorage::Turns)
      return true;
    return model.hidden != 2 * width
               ? !step.isStored(gateUpStack(name), {count, 2 * width, model.hidden})
               : !step.isStored(downStack(name), {count, model.hidden, width});
  }

  Value down(const std::string &name) {
    if (!areApart(name))
      return step.expertWeights(downStack(name), count, model.hidden, width, inputsFirst(name));
    SmallVector<Value> parts;
    for (int64_t expert = 0; expert < count; ++expert)
      parts.push_back(expertMatrix(name, expert, experts.down, hidden, width));
    return step.stack(parts);
  }

  /// What is added to products with gateAndUp().
  Value inputBiases(const std::string &name) {
    auto ofPart = [&](std::string_view part, int64_t columns) {
      Value biases = step.weight(name + std::string(part) + "_bias", {count, columns});
      return step.reshape(biases, {count * columns, 1});
    };
    Value rows;
    if (experts.storage == ExpertStorage::Turns)
      rows = byExpertHalves(ofPart("gate_up_proj", 2 * width));
    else // all gates before all ups
      rows = step.permuteRows(step.stack({ofPart(experts.gate, width), ofPart(experts.up, width)}),
                              {2, count, width}, {1, 0, 2});
    return step.reshape(rows, {count, 2 * width});
  }

  Value expertMatrix(const std::string &name, int64_t expert, std::string_view part, int64_t rows,
                     int64_t columns) {
    return step.weight(name + std::to_string(expert) + "." + std::string(part) + ".weight",
                       {rows, columns});
  }

  /// What has gate and up of each expert in turn, with all gates of an expert before its ups.
  Value byExpertHalves(Value weight) {
    return step.permuteRows(weight, {count, width, 2}, {0, 2, 1});
  }

  Modules &model;
  StepBuilder &step;
  const Experts &experts;
  const std::string &prefix;  ///< of the layer ("model.layers.0.")
  const int64_t count, width; ///< of experts, and of each one
  const int64_t hidden;       ///< columns of what each reads and gives
};

} // namespace

Value compiler::mixChannels(Modules &model, const Experts &experts, Value x,
                            const std::string &prefix) {
  return ExpertsBuilder(model, experts, prefix).build(x, x);
}

Value compiler::mixChannels(Modules &model, const checkpoint::MlpAndExperts &both, Value x, Value y,
                            const std::string &prefix) {
  auto normed = [&](Value input, std::string_view norm, const char *number) {
    return model.norm(input, prefix + std::string(norm) + number);
  };
  const checkpoint::ModuleNames &names = model.names;
  Value dense = normed(mixChannels(model, both.mlp, x, prefix), names.resultNorm, "_1"),
        routed = normed(y, names.feedForwardNorm, "_2"),
        sparse = normed(ExpertsBuilder(model, both.experts, prefix).build(routed, y),
                        names.resultNorm, "_2");
  return model.step.add(dense, sparse);
}
