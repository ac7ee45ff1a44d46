// SPDX-License-Identifier: Apache-2.0
// A transformer over patches, and what makes rows of them.
#include "compiler/importers/Encoder.h"

#include "compiler/checkpoint/config/VisionPlan.h"
#include "runtime/schema/Names.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::NormKind;
using checkpoint::PatchPositions;
using checkpoint::RowProjector;
using checkpoint::VisionPlan;

namespace {

class Encoder {
public:
  Encoder(StepBuilder &step, const VisionPlan &plan, int64_t hidden)
      : step(step), plan(plan), tower(plan.tower), names(plan.names), hidden(hidden),
        width(count(tower.width)), inner(count(tower.innerSize)), heads(count(tower.heads)),
        perRow(count(plan.patchesPerRow())), patches(rowsOf(perRow)) {}

  func::FuncOp build() {
    begin();
    Value x = positioned(embedded());
    SmallVector<Value> rows(1 + plan.deepstackLayers.size());
    for (uint64_t i = 0; i < tower.layers; ++i) {
      x = step.boundary(layer(x, i), "vision.layers." + std::to_string(i));
      for (auto [number, behind] : llvm::enumerate(plan.deepstackLayers))
        if (behind == i)
          rows[1 + number] = deepRows(x, number);
    }
    if (!names.lastNorm.empty())
      x = norm(x, names.lastNorm);
    rows[0] = projected(x);
    SmallVector<std::string> results;
    for (size_t i = 0; i < rows.size(); ++i)
      results.push_back(schema::output::encodedRows + (i == 0 ? "" : "." + std::to_string(i)));
    return step.finishProgram(rows, SmallVector<StringRef>(results.begin(), results.end()));
  }

private:
  static int64_t count(uint64_t number) { return static_cast<int64_t>(number); }
  static std::string rowsOf(int64_t each) {
    const std::string rows = schema::dim::imageRows;
    return each == 1 ? rows : rows + " * " + std::to_string(each);
  }

  void begin() {
    namespace input = schema::input;
    SmallVector<ProgramInput> inputs;
    SmallVector<Value *> values;
    auto add = [&](const char *name, Type type, Value &value) {
      inputs.push_back({name, type});
      values.push_back(&value);
    };
    auto addSequences = [&](const char *name, const char *offsets, const char *dim, Spans &spans) {
      add(name, step.indices(patches), spans.sequences);
      add(offsets, step.indices(dim + std::string(" + 1")), spans.offsets);
    };
    add(input::pixels, step.activation(patches, patchValues()), pixels);
    addSequences(input::patchSequences, input::patchOffsets, schema::dim::images, whole);
    if (tower.window != 0)
      addSequences(input::windowSequences, input::windowOffsets, schema::dim::windows, windows);
    if (tower.rotates)
      add(input::patchPlaces, step.indices(rowsOf(2 * perRow)), places);
    if (positionsEach() != 0)
      add(input::positionRows, step.indices(rowsOf(positionsEach() * perRow)), positionRows);
    if (tower.positions == PatchPositions::Interpolated)
      add(input::positionWeights, step.numbers(rowsOf(positionsEach() * perRow)), positionWeights);
    for (auto [value, given] :
         llvm::zip(values, step.beginProgram(schema::program::encode, inputs)))
      *value = given;
  }

  /// Rows of the table of positions that a patch takes.
  int64_t positionsEach() const {
    switch (tower.positions) {
    case PatchPositions::None:
      return 0;
    case PatchPositions::Learned:
      return 1;
    case PatchPositions::Interpolated:
      return 4;
    case PatchPositions::Axes:
      return 2;
    }
    return 0;
  }

  int64_t patchValues() const {
    return count(tower.channels * plan.patchSide() * plan.patchSide());
  }
  static std::string tensor(std::string_view module, const char *kind = ".weight") {
    return "vision." + std::string(module) + kind;
  }
  void at(std::string_view module) { step.setSite("vision." + std::string(module)); }

  Value embedded() {
    at(names.patch);
    // A product of f32 would take longer than a layer: pixels are rounded as what is computed is.
    auto same = [](ElementFunctions &, ValueRange x) { return x[0]; };
    Value x = names.patchInputNorm.empty() ? step.elements(pixels, same)
                                           : norm(pixels, names.patchInputNorm);
    at(names.patch);
    Value bias = tower.patchBias ? step.weight(tensor(names.patch, ".bias"), {width}) : Value();
    x = step.linear(x, patchWeight(), bias);
    return names.patchResultNorm.empty() ? x : norm(x, names.patchResultNorm);
  }

  /// The convolution of a patch is a product.
  Value patchWeight() {
    if (plan.images.channelsLast)
      return step.weight(tensor(names.patch), {width, patchValues()});
    const int64_t side = count(tower.patchSize), channels = count(tower.channels),
                  slices = count(tower.slices);
    SmallVector<int64_t> shape{width, channels, side, side};
    if (slices > 1)
      shape.insert(shape.begin() + 2, slices);
    Value weight = step.weight(tensor(names.patch), shape);
    if (slices > 1)
      weight = step.reshape(step.sumOfSlices(weight, width * channels, slices, side * side),
                            {width, patchValues()});
    return weight;
  }

  /// Of Axes columns stand before rows.
  Value positionTable() {
    const int64_t side = count(tower.positionSide);
    if (tower.positions != PatchPositions::Axes)
      return step.weight(tensor(names.positions), {side * side, width});
    if (!tower.placesFirst)
      return step.weight(tensor(names.positions, ""), {2, side, width});
    return step.permuteRows(step.weight(tensor(names.positions, ""), {side, 2, width}), {side, 2},
                            {1, 0});
  }

  Value positioned(Value x) {
    if (tower.positions == PatchPositions::None)
      return x;
    at(names.positions);
    Value rows = step.rowsAt(positionTable(), positionRows);
    if (positionsEach() > 1)
      rows = step.sumOfRows(rows, positionWeights, patches);
    return step.add(x, rows);
  }

  Value norm(Value x, std::string_view module) {
    at(module);
    const int64_t columns = llm::columnsOf(x);
    Value weight = step.weight(tensor(module), {columns});
    Value bias = tower.norm == NormKind::LayerBias ? step.weight(tensor(module, ".bias"), {columns})
                                                   : Value();
    return step.norm(x, tower.norm != NormKind::Rms, weight, bias, tower.epsilon);
  }

  Value linear(Value x, std::string_view module, int64_t outputs, bool hasBias = true) {
    at(module);
    Value weight = step.weight(tensor(module), {outputs, llm::columnsOf(x)});
    return step.linear(x, weight,
                       hasBias ? step.weight(tensor(module, ".bias"), {outputs}) : Value());
  }

  /// A product of a layer. `isTurned`: of q or k.
  Value product(Value x, const std::string &module, int64_t outputs, bool isTurned = false) {
    x = bounded(x, module + ".input");
    const std::string matrix = module + std::string(names.matrix);
    at(matrix);
    Value weight = step.weight(tensor(matrix), {outputs, llm::columnsOf(x)}),
          bias = tower.biases ? step.weight(tensor(matrix, ".bias"), {outputs}) : Value();
    if (isTurned && tower.columnsFirst)
      weight = byHalves(weight);
    return bounded(step.linear(x, weight, bias), module + ".output");
  }

  /// x within the two stored numbers; infinite ones are none.
  Value bounded(Value x, const std::string &name) {
    if (!tower.clips)
      return x;
    constexpr double none = std::numeric_limits<double>::infinity();
    const double least = step.number(tensor(name, "_min"), -none, false, /*isBound=*/true),
                 most = step.number(tensor(name, "_max"), none, false, /*isBound=*/true);
    if (std::isinf(least) && std::isinf(most))
      return x;
    at(name);
    return step.elements(x, [&](ElementFunctions &element, ValueRange values) {
      Value bounded = std::isinf(least) ? values[0] : element.atLeast(values[0], least);
      return std::isinf(most) ? bounded : element.atMost(bounded, most);
    });
  }

  /// Rows of heads whose halves turn each within itself, so that pairs are half a head apart.
  Value byHalves(Value weight) {
    const int64_t rows = cast<RankedTensorType>(weight.getType()).getShape().front();
    return step.permuteRows(weight, {rows / headDim(), 2, 2, headDim() / 4}, {0, 2, 1, 3});
  }

  Value layer(Value x, uint64_t index) {
    const std::string prefix = std::string(names.layers) + "." + std::to_string(index) + ".";
    auto named = [&](std::string_view module) { return prefix + std::string(module); };
    auto added = [&](Value result, std::string_view resultNorm) {
      return step.add(x, resultNorm.empty() ? result : norm(result, named(resultNorm)));
    };
    x = added(product(attended(norm(x, named(names.attentionNorm)), prefix, index),
                      named(names.output), width),
              names.attentionResultNorm);
    Value input = norm(x, named(names.feedForwardNorm));
    Value up = product(input, named(names.up), inner);
    const ActivationFunction function{tower.activation};
    up = names.gate.empty()
             ? step.activated(function, up)
             : step.activatedTimes(function, product(input, named(names.gate), inner), up);
    return added(product(up, named(names.down), width), names.feedForwardResultNorm);
  }

  Value attended(Value input, const std::string &prefix, uint64_t index) {
    Value parts[3];
    auto named = [&](std::string_view module) { return prefix + std::string(module); };
    if (names.queryKeyValue.empty()) {
      for (auto [part, name] : llvm::zip(parts, std::array{names.query, names.key, names.value}))
        part = product(input, named(name), heads * headDim(), name != names.value);
    } else {
      Value all = product(input, named(names.queryKeyValue), 3 * width);
      for (auto [i, part] : llvm::enumerate(parts))
        part = step.sliceColumns(all, static_cast<int64_t>(i) * width, width);
    }
    auto &[q, k, v] = parts;
    if (!names.queryNorm.empty()) {
      q = headNorm(q, named(names.queryNorm));
      k = headNorm(k, named(names.keyNorm));
      v = step.norm(v, /*centered=*/false, Value(), Value(), tower.epsilon, headDim());
    }
    at(prefix + "attention");
    if (tower.rotates) {
      q = rotated(q);
      k = rotated(k);
    }
    const bool isWhole = tower.window == 0 || llvm::is_contained(tower.fullLayers, index);
    const Spans &spans = isWhole ? whole : windows;
    return step.encoderAttention(
        q, k, v, spans.sequences, spans.offsets, heads,
        tower.scaling != 0 ? tower.scaling : 1 / std::sqrt(static_cast<double>(headDim())));
  }

  int64_t headDim() const { return count(tower.columnsOfHead()); }

  Value headNorm(Value x, const std::string &module) {
    at(module);
    Value weight = step.weight(tensor(module), {headDim()});
    return step.norm(x, /*centered=*/false, tower.columnsFirst ? byHalves(weight) : weight, Value(),
                     tower.epsilon, headDim());
  }

  /// Half of the pairs of a head turn by the row, the others by the column.
  Value rotated(Value x) {
    const int64_t each = headDim() / 4;
    std::vector<float> frequencies;
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < 2 * each; ++i) {
      const double power = static_cast<double>(i % each) / static_cast<double>(each);
      frequencies.push_back(static_cast<float>(std::pow(tower.theta, -power)));
      axes.push_back(tower.columnsFirst ? 1 - i / each : i / each);
    }
    return step.ropeBy(places, x, step.literal("vision.inv_freq", frequencies), headDim(), 1, axes);
  }

  Value projected(Value x) {
    switch (plan.projector) {
    case RowProjector::MeanPool:
      return meanOfRows(x);
    case RowProjector::Linear:
      return linear(step.joinRows(x, rowsOf(1)), names.projector, hidden, /*hasBias=*/false);
    case RowProjector::PlainMean:
      return plainMean(x);
    case RowProjector::Merger:
      return merged(step.joinRows(norm(x, names.projectorNorm), rowsOf(1)), names.projectorInner,
                    names.projector);
    }
    return x;
  }

  Value merged(Value x, std::string_view innerName, std::string_view outerName) {
    x = linear(x, innerName, llm::columnsOf(x));
    x = step.activated({checkpoint::Activation::Gelu}, x);
    return linear(x, outerName, hidden);
  }

  /// What a merger whose norm is of the whole row makes.
  Value deepRows(Value x, size_t number) {
    const std::string prefix = std::string(names.deepstack) + "." + std::to_string(number) + ".";
    auto named = [&](std::string_view module) { return prefix + std::string(module); };
    return merged(norm(step.joinRows(x, rowsOf(1)), named(names.deepstackNorm)),
                  named(names.deepstackInner), named(names.deepstackOuter));
  }

  /// The norm multiplies by one more than is stored, and the mean is within it.
  Value meanOfRows(Value x) {
    at("projector");
    if (perRow > 1)
      x = step.multiply(step.sumOfRows(x, Value(), rowsOf(1)), 1.0 / static_cast<double>(perRow));
    at(names.projectorNorm);
    x = step.norm(x, /*centered=*/false,
                  step.plusOne(step.weight(tensor(names.projectorNorm), {width})), Value(),
                  plan.projectorEpsilon);
    at(names.projector);
    return step.linear(x, step.matrix(tensor(names.projector, ""), hidden, width,
                                      /*inputsFirst=*/true));
  }

  Value plainMean(Value x) {
    at("projector");
    if (perRow > 1)
      x = step.sumOfRows(x, Value(), rowsOf(1));
    // In one operation, for numbers of 16 bits do not hold the mean times its factor.
    const double factor = plan.meanScale / static_cast<double>(perRow);
    if (names.shift.empty())
      x = step.multiply(x, factor);
    else
      x = step.elements({x, step.weight(tensor(names.shift, ""), {width}),
                         step.weight(tensor(names.scale, ""), {width})},
                        [&](ElementFunctions &element, ValueRange values) {
                          Value mean = element.product(values[0], element.constant(factor));
                          return element.product(element.difference(mean, values[1]), values[2]);
                        });
    x = step.norm(x, /*centered=*/false, Value(), Value(), plan.projectorEpsilon);
    return linear(x, names.projector, hidden, /*hasBias=*/false);
  }

  StepBuilder &step;
  const VisionPlan &plan;
  const checkpoint::VisionTower &tower;
  const checkpoint::VisionNames &names;
  const int64_t hidden; ///< columns of the rows that are made
  const int64_t width, inner, heads;
  const int64_t perRow;      ///< patches of a row
  const std::string patches; ///< their number
  /// What attends within itself: of each patch which one, and where they begin.
  struct Spans {
    Value sequences, offsets;
  };
  Spans whole, windows;
  Value pixels, places, positionRows, positionWeights;
};

} // namespace

func::FuncOp compiler::addEncodeProgram(StepBuilder &step, const checkpoint::ModelConfig &config) {
  return Encoder(step, *config.vision, static_cast<int64_t>(config.hiddenSize)).build();
}
