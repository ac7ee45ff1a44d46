// SPDX-License-Identifier: Apache-2.0
// The model goes by once, one layer at a time: with it the rows of every model that differs from it
// in one matrix of an earlier layer.
#include "compiler/quantize/Sensitivity.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/quantize/Calibration.h"
#include "compiler/quantize/Divergence.h"
#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/methods/OutputError.h"

#include <numeric>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;
using recipe::NumberFormat;
using recipe::WeightFormat;

namespace {

/// From the smallest on.
constexpr WeightFormat kFormats[] = {
    {NumberFormat::Int4, 128},
    {NumberFormat::Int4, 64},
    {NumberFormat::Int4, 32},
    {NumberFormat::Int8, recipe::kWholeRow},
};

/// The recipe that quantizes one matrix.
recipe::Recipe recipeFor(const recipe::Recipe &recipe, const std::string &weight,
                         const WeightFormat &format) {
  recipe::Recipe own = recipe;
  own.weights = {{weight, format}};
  return own;
}

/// The formats that a matrix may get, with what becomes of it there.
std::vector<std::pair<WeightFormat, ModuleRecord>> recordsOf(const LayerSettings &settings,
                                                             const compiler::Product &product) {
  std::vector<std::pair<WeightFormat, ModuleRecord>> records;
  for (WeightFormat format : kFormats) {
    format.zeroPoints =
        recipe::isGrouped(format.type) && settings.recipe.formatFor(product.weight).zeroPoints;
    const recipe::Recipe recipe = recipeFor(settings.recipe, product.weight, format);
    std::string unused;
    auto record =
        recordFor({settings.checkpoint, recipe, settings.layout, settings.scales, settings.threads},
                  product, unused);
    // A group that does not divide the columns became the next smaller one.
    if (!record || record->format.group != format.group)
      continue;
    record->module = product.weight;
    records.emplace_back(format, *std::move(record));
  }
  return records;
}

/// Whether the matrices of a group may get another format than the stored one. Experts are not
/// searched.
bool isSearched(const LayerSettings &settings, const compiler::ProductGroup &group) {
  return !group.routed && isQuantized(settings, group);
}

uint64_t bytesOf(const LayerSettings &settings, const ModuleRecord &record,
                 const EncodedMatrix &matrix) {
  uint64_t bytes = 0;
  for (const TensorData &part : settings.layout.tensors(record, matrix))
    bytes += part.header.bytes();
  return bytes;
}

/// The bytes of a matrix, whatever its numbers are: of two of few rows, for each row adds as many.
Expected<uint64_t> bytesOf(const LayerSettings &settings, const ModuleRecord &record,
                           const WeightFormat &format, const compiler::Product &product) {
  constexpr int64_t step = 8; // rows whose zero points fill a word
  auto ofRows = [&](int64_t rows) -> Expected<uint64_t> {
    const std::vector<float> ones(static_cast<size_t>(rows * product.columns), 1.0f);
    auto encoded = encodeMatrix(ones.data(), rows, product.columns,
                                {format, recipe::Method::Round, settings.scales, 0, 1},
                                /*statistics=*/nullptr);
    return encoded ? Expected<uint64_t>(bytesOf(settings, record, encoded->matrix))
                   : encoded.error();
  };
  auto one = ofRows(step), two = ofRows(2 * step);
  if (!one || !two)
    return one ? two.error() : one.error();
  return *one + (*two - *one) * static_cast<uint64_t>(std::max(product.rows, step) / step - 1);
}

/// A model that differs in one matrix.
struct Trial {
  size_t matrix;
  std::vector<double> errors; ///< of the outputs, by rounding to each format but the stored one
  double divergence = 0;
};

class Measurement {
public:
  Measurement(mlir::MLIRContext &context, const QuantizeOptions &options,
              const checkpoint::Checkpoint &model, const PartOptions &part,
              compiler::Progress &progress)
      : context(context), options(options), model(model), part(part), progress(progress),
        settings(layerSettings(options, model)),
        layers(static_cast<int64_t>(model.config().layerCount())),
        width(compiler::PartRows(model.config()).width()), zeros(static_cast<size_t>(part.length)),
        given(zeros.size() * static_cast<size_t>(width)),
        calibration(context, this->part, part.folder, model.config(),
                    recipe::usesGptq(options.recipe.method) ? Knowledge::Products
                                                            : Knowledge::Squares) {}

  Expected<std::vector<MatrixSensitivity>> run() {
    if (auto begun = begin(); !begun)
      return begun.error();
    for (int64_t i = 0; i < layers; ++i)
      if (auto measured = layer(i); !measured)
        return measured.error();
    if (auto measured = divergences(); !measured)
      return measured.error();
    for (const Trial &trial : trials) {
      auto formats = std::span(matrices[trial.matrix].formats).subspan(1);
      for (size_t i = 0; i < formats.size(); ++i)
        formats[i].divergence =
            trial.errors[0] > 0 ? trial.divergence * trial.errors[i] / trial.errors[0] : 0;
    }
    return std::move(matrices);
  }

private:
  Outcome begin() {
    progress.begin("calibration text");
    auto begun = calibration.begin(options.text, [&](int64_t done, int64_t total) {
      progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    });
    if (!begun)
      return begun;
    const int64_t count = calibration.sequences(),
                  wanted = std::clamp<int64_t>(kSampledRows / part.length, 1, count);
    for (int64_t i = 0; i < wanted; ++i)
      sequences.push_back(i * count / wanted);
    auto file = RowFile::open(part.folder / "trials", width);
    if (!file)
      return file.error();
    rows.emplace(*std::move(file));
    progress.end(checkpoint::message(count, " sequences of ", part.length));
    return {};
  }

  void step() { progress.update(++stepsDone, stepsPlanned); }

  Outcome layer(int64_t index) {
    progress.begin(checkpoint::message("sensitivity, layer ", index + 1, " of ", layers));
    auto engine = PartEngine::build(context, part, index, {});
    if (!engine)
      return engine.error();
    const compiler::ProductList &products = engine->products();
    std::vector<const compiler::ProductGroup *> wanted;
    size_t own = 0;
    for (const compiler::ProductGroup &group : products.groups) {
      if (!isSearched(settings, group))
        continue;
      wanted.push_back(&group);
      own += group.products.size();
    }
    stepsDone = 0;
    stepsPlanned = static_cast<uint64_t>(2 * calibration.sequences()) + trials.size() + own;
    for (size_t i = 0; i < trials.size(); ++i) {
      if (auto moved = moveTrial(*engine, i); !moved)
        return moved;
      step();
    }
    auto stepped = [&](int64_t, int64_t) { step(); };
    auto observed = calibration.observe(*engine, index, wanted, /*keepsResults=*/true, stepped);
    if (!observed)
      return observed.error();
    for (const compiler::ProductGroup &group : products.groups) {
      const auto place = std::ranges::find(wanted, &group) - wanted.begin();
      const InputStatistics *inputs = static_cast<size_t>(place) < wanted.size()
                                          ? &(*observed)[static_cast<size_t>(place)]
                                          : nullptr;
      for (const compiler::Product &product : group.products)
        if (auto measured = matrix(index, group, product, inputs); !measured)
          return measured;
    }
    if (auto moved = calibration.advance(*engine, index, stepped); !moved)
      return moved;
    calibration.forget(index + 1);
    progress.end();
    return {};
  }

  /// Takes a trial from before a layer to behind it.
  Outcome moveTrial(PartEngine &engine, size_t trial) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (auto read = rows->read(rowOf(trial, i), given); !read)
        return read;
      if (auto ran = engine.advance(zeros, given); !ran)
        return ran;
      if (auto written = rows->write(rowOf(trial, i), given); !written)
        return written;
    }
    return {};
  }

  int64_t rowOf(size_t trial, size_t sequence) const {
    return static_cast<int64_t>(trial * sequences.size() + sequence) * part.length;
  }

  /// Measures a matrix; `inputs`: of its group, or null where the recipe quantizes none of it.
  Outcome matrix(int64_t index, const compiler::ProductGroup &group,
                 const compiler::Product &product, const InputStatistics *inputs) {
    if (product.stack) // part of a tensor
      return {};
    auto tensor = model.get(holderOf(product));
    if (!tensor)
      return tensor.error();
    MatrixSensitivity &measured = matrices.emplace_back();
    measured.weight = product.weight;
    measured.elements = static_cast<uint64_t>(product.rows * product.columns);
    measured.formats.push_back({{}, (*tensor)->bytes, 0});
    std::string unused;
    if (!inputs || !recordFor(settings, product, unused))
      return {};
    step();
    Trial trial{matrices.size() - 1, {}};
    if (auto rounded = round(product, *inputs, trial); !rounded || trial.errors.empty())
      return rounded;
    trials.push_back(std::move(trial));
    return addRows(index, group, product, *inputs);
  }

  LayerSettings withRecipe(const recipe::Recipe &recipe) const {
    return {model, recipe, settings.layout, settings.scales, settings.threads};
  }

  /// Rounds the matrix to every format that holds it.
  Outcome round(const compiler::Product &product, const InputStatistics &inputs, Trial &trial) {
    auto values = readMatrix(model, product);
    if (!values)
      return values.error();
    std::vector<float> changed(values->size());
    for (const auto &[format, record] : recordsOf(settings, product)) {
      auto encoded =
          encodeMatrix(values->data(), product.rows, product.columns,
                       {format, options.recipe.method, settings.scales, 0, settings.threads},
                       /*statistics=*/nullptr);
      if (!encoded)
        return checkpoint::Error{encoded.error().code, encoded.error().what,
                                 shownName(model, product), encoded.error().fix};
      std::visit([&](const auto &matrix) { matrix.dequantize(changed.data()); }, encoded->matrix);
      trial.errors.push_back(outputError(values->data(), changed.data(), product.rows,
                                         product.columns, inputs.sampled.data(),
                                         inputs.sampledRows(), settings.threads));
      matrices[trial.matrix].formats.push_back(
          {format, bytesOf(settings, record, encoded->matrix), 0});
    }
    return {};
  }

  /// The rows behind the layer of the model with that matrix in its smallest format, by the
  /// recipe's method.
  Outcome addRows(int64_t index, const compiler::ProductGroup &group,
                  const compiler::Product &product, const InputStatistics &inputs) {
    const recipe::Recipe recipe =
        recipeFor(options.recipe, product.weight, matrices.back().formats[1].format);
    std::vector<InputStatistics> own; // scaled inputs are others
    if (recipe::isCalibrated(recipe.method))
      own.push_back(inputs);
    const compiler::ProductGroup *groups[] = {&group};
    auto result = quantizeGroups(withRecipe(recipe), groups, own);
    if (!result)
      return result.error();
    own.clear();
    const std::filesystem::path decoded = part.folder / "decoded.safetensors";
    if (auto written = writeSafetensors(decoded, result->decoded); !written)
      return written;
    auto engine = PartEngine::build(context, part, index, {&decoded, 1});
    if (!engine)
      return engine.error();
    auto before = calibration.rows(index);
    if (!before)
      return before.error();
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (auto read = before->read(sequences[i] * part.length, given); !read)
        return read;
      if (auto ran = engine->advance(zeros, given); !ran)
        return ran;
      if (auto written = rows->write(rowOf(trials.size() - 1, i), given); !written)
        return written;
    }
    return {};
  }

  /// Compares the predictions of all trials with the model's.
  Outcome divergences() {
    progress.begin("sensitivity, head");
    auto head = PartEngine::build(context, part, layers, {});
    if (!head)
      return head.error();
    auto base = calibration.rows(layers);
    if (!base)
      return base.error();
    stepsDone = 0;
    stepsPlanned = sequences.size() * trials.size();
    std::vector<float> baseLogits, logits;
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (auto read = base->read(sequences[i] * part.length, given); !read)
        return read;
      if (auto ran = head->recordLogits(zeros, given, baseLogits); !ran)
        return ran;
      for (size_t trial = 0; trial < trials.size(); ++trial) {
        if (auto read = rows->read(rowOf(trial, i), given); !read)
          return read;
        if (auto ran = head->recordLogits(zeros, given, logits); !ran)
          return ran;
        trials[trial].divergence +=
            meanDivergence(logits, baseLogits) / static_cast<double>(sequences.size());
        step();
      }
    }
    progress.end();
    return {};
  }

  double meanDivergence(std::span<const float> logits, std::span<const float> base) const {
    const size_t vocabulary = base.size() / zeros.size();
    std::vector<double> own, other;
    double sum = 0;
    for (size_t i = 0; i < zeros.size(); ++i) {
      logSoftmax(logits.subspan(i * vocabulary, vocabulary), own);
      logSoftmax(base.subspan(i * vocabulary, vocabulary), other);
      sum += std::max(0.0, divergenceOf(own, other)); // below 0 by rounding alone
    }
    return sum / static_cast<double>(zeros.size());
  }

  mlir::MLIRContext &context;
  const QuantizeOptions &options;
  const checkpoint::Checkpoint &model;
  const PartOptions &part;
  compiler::Progress &progress;
  const LayerSettings settings;
  int64_t layers, width;      ///< of rows
  std::vector<int32_t> zeros; ///< stand for tokens that are not read
  std::vector<float> given;   ///< the rows of a sequence in front of a part
  Calibration calibration;
  std::vector<int64_t> sequences; ///< that trials run
  std::optional<RowFile> rows;    ///< of all trials, behind the layers that are done
  std::vector<Trial> trials;
  std::vector<MatrixSensitivity> matrices;
  uint64_t stepsDone = 0, stepsPlanned = 0;
};

} // namespace

Expected<std::vector<MatrixSensitivity>>
quantize::sizesInFormats(mlir::MLIRContext &context, const QuantizeOptions &options,
                         const checkpoint::Checkpoint &model) {
  const LayerSettings settings = layerSettings(options, model);
  std::vector<MatrixSensitivity> matrices;
  auto add = [&](const compiler::Product &product, bool isWanted) -> Outcome {
    auto tensor = model.get(holderOf(product));
    if (!tensor)
      return tensor.error();
    MatrixSensitivity &matrix = matrices.emplace_back();
    matrix.weight = product.weight;
    matrix.elements = static_cast<uint64_t>(product.rows * product.columns);
    matrix.formats.push_back({{}, (*tensor)->bytes, 0});
    std::string unused;
    if (!isWanted || !recordFor(settings, product, unused))
      return {};
    for (const auto &[format, record] : recordsOf(settings, product)) {
      auto bytes = bytesOf(settings, record, format, product);
      if (!bytes)
        return bytes.error();
      matrix.formats.push_back({format, *bytes, 0});
    }
    return {};
  };
  for (int64_t i = 0; i < static_cast<int64_t>(model.config().layerCount()); ++i) {
    auto products = productsOf(context, model, i, options.text.length);
    if (!products)
      return products.error();
    for (const compiler::ProductGroup &group : products->groups)
      for (const compiler::Product &product : group.products)
        if (!product.stack)
          if (auto added = add(product, isSearched(settings, group)); !added)
            return added.error();
  }
  return matrices;
}

Expected<std::vector<MatrixSensitivity>>
quantize::measureSensitivity(mlir::MLIRContext &context, const QuantizeOptions &options,
                             const checkpoint::Checkpoint &model, const PartOptions &part,
                             compiler::Progress &progress) {
  return Measurement(context, options, model, part, progress).run();
}
