// SPDX-License-Identifier: Apache-2.0
// A transformer over patches, and what makes rows of them.
#include "compiler/importers/Encoder.h"

#include "compiler/checkpoint/config/VisionPlan.h"
#include "runtime/schema/Names.h"

#include <cmath>

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
        width(count(tower.width)), inner(count(tower.innerSize)),
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
    if (positionsEach() > 1)
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
    }
    return 0;
  }

  int64_t patchValues() const { return count(tower.channels * tower.patchSize * tower.patchSize); }
  static std::string tensor(std::string_view module, const char *kind = ".weight") {
    return "vision." + std::string(module) + kind;
  }
  void at(std::string_view module) { step.setSite("vision." + std::string(module)); }

  /// The convolution of a patch is a product.
  Value embedded() {
    at(names.patch);
    const int64_t side = count(tower.patchSize), channels = count(tower.channels),
                  slices = count(tower.slices);
    SmallVector<int64_t> shape{width, channels, side, side};
    if (slices > 1)
      shape.insert(shape.begin() + 2, slices);
    Value weight = step.weight(tensor(names.patch), shape);
    if (slices > 1)
      weight = step.reshape(step.sumOfSlices(weight, width * channels, slices, side * side),
                            {width, patchValues()});
    Value bias = tower.patchBias ? step.weight(tensor(names.patch, ".bias"), {width}) : Value();
    return step.linear(pixels, weight, bias);
  }

  Value positioned(Value x) {
    if (tower.positions == PatchPositions::None)
      return x;
    at(names.positions);
    Value rows = step.rowsAt(step.weight(tensor(names.positions),
                                         {count(tower.positionSide * tower.positionSide), width}),
                             positionRows);
    return step.add(x, positionWeights ? step.sumOfRows(rows, positionWeights, patches) : rows);
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

  Value layer(Value x, uint64_t index) {
    const std::string prefix = std::string(names.layers) + "." + std::to_string(index) + ".";
    auto named = [&](std::string_view module) { return prefix + std::string(module); };
    x = step.add(x, linear(attended(norm(x, named(names.attentionNorm)), prefix, index),
                           named(names.output), width));
    Value input = norm(x, named(names.feedForwardNorm));
    Value up = linear(input, named(names.up), inner);
    const ActivationFunction function{tower.activation};
    up = names.gate.empty()
             ? step.activated(function, up)
             : step.activatedTimes(function, linear(input, named(names.gate), inner), up);
    return step.add(x, linear(up, named(names.down), width));
  }

  Value attended(Value input, const std::string &prefix, uint64_t index) {
    Value parts[3];
    auto named = [&](std::string_view module) { return prefix + std::string(module); };
    if (names.queryKeyValue.empty()) {
      for (auto [part, name] : llvm::zip(parts, std::array{names.query, names.key, names.value}))
        part = linear(input, named(name), width);
    } else {
      Value all = linear(input, named(names.queryKeyValue), 3 * width);
      for (auto [i, part] : llvm::enumerate(parts))
        part = step.sliceColumns(all, static_cast<int64_t>(i) * width, width);
    }
    auto &[q, k, v] = parts;
    at(prefix + "attention");
    if (tower.rotates) {
      q = rotated(q);
      k = rotated(k);
    }
    const bool isWhole = tower.window == 0 || llvm::is_contained(tower.fullLayers, index);
    const Spans &spans = isWhole ? whole : windows;
    return step.encoderAttention(q, k, v, spans.sequences, spans.offsets, count(tower.heads),
                                 1 / std::sqrt(static_cast<double>(headDim())));
  }

  int64_t headDim() const { return width / count(tower.heads); }

  /// The first half of the pairs of a head turns by the row, the other by the column.
  Value rotated(Value x) {
    const int64_t each = headDim() / 4;
    std::vector<float> frequencies;
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < 2 * each; ++i) {
      const double power = static_cast<double>(i % each) / static_cast<double>(each);
      frequencies.push_back(static_cast<float>(std::pow(tower.theta, -power)));
      axes.push_back(i / each);
    }
    return step.ropeBy(places, x, step.literal("vision.inv_freq", frequencies), headDim(), 1, axes);
  }

  Value projected(Value x) {
    switch (plan.projector) {
    case RowProjector::MeanPool:
      return meanOfRows(x);
    case RowProjector::Linear:
      return linear(step.joinRows(x, rowsOf(1)), names.projector, hidden, /*hasBias=*/false);
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

  StepBuilder &step;
  const VisionPlan &plan;
  const checkpoint::VisionTower &tower;
  const checkpoint::VisionNames &names;
  const int64_t hidden; ///< columns of the rows that are made
  const int64_t width, inner;
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
