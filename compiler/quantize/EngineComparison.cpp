// SPDX-License-Identifier: Apache-2.0
// The checkpoint is streamed: one part of it is an engine at a time, with the rows between two
// parts on disk.
#include "compiler/quantize/EngineComparison.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/quantize/Divergence.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

/// Sums of two series of values.
struct DifferenceSums {
  double differences = 0, squares = 0;

  void add(std::span<const float> values, std::span<const float> base) {
    for (size_t i = 0; i < base.size(); ++i) {
      const double difference = double(values[i]) - double(base[i]);
      differences += difference * difference;
      squares += double(base[i]) * double(base[i]);
    }
  }
  /// Infinite where a value is no number.
  double relative() const {
    const double result = std::sqrt(differences / std::max(squares, 1e-30));
    return std::isnan(result) ? HUGE_VAL : result;
  }
};

class Predictions {
public:
  /// Rows of logits of the same tokens; the last one predicts nothing that is known.
  void add(std::span<const int32_t> tokens, std::span<const float> logits,
           std::span<const float> base, size_t vocabulary) {
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      logSoftmax(logits.subspan(i * vocabulary, vocabulary), own);
      logSoftmax(base.subspan(i * vocabulary, vocabulary), other);
      const double divergence = divergenceOf(own, other);
      values.push_back(std::isnan(divergence) ? HUGE_VAL : divergence);
      const auto next = static_cast<size_t>(tokens[i + 1]);
      loss -= own[next];
      baseLoss -= other[next];
      ++occurrences[tokens[i + 1]];
      same += std::max_element(own.begin(), own.end()) - own.begin() ==
              std::max_element(other.begin(), other.end()) - other.begin();
    }
  }

  PredictionDifference result() {
    PredictionDifference difference;
    const auto count = double(values.size());
    double sum = 0, squares = 0;
    for (double value : values) {
      sum += value;
      squares += value * value;
    }
    std::sort(values.begin(), values.end());
    difference.tokens = static_cast<int64_t>(values.size());
    difference.divergence = sum / count;
    difference.divergenceError = std::sqrt(
        std::max(0.0, squares / count - difference.divergence * difference.divergence) / count);
    difference.divergenceP99 = values[static_cast<size_t>(std::ceil(0.99 * count)) - 1];
    difference.perplexity = std::exp(loss / count);
    difference.basePerplexity = std::exp(baseLoss / count);
    double unigramLoss = 0;
    for (const auto &[token, times] : occurrences)
      unigramLoss -= double(times) * std::log(double(times) / count);
    difference.unigramPerplexity = std::exp(unigramLoss / count);
    difference.sameTop = double(same) / count;
    return difference;
  }

private:
  std::vector<double> own, other, values;
  std::map<int32_t, size_t> occurrences; ///< of predicted tokens
  double loss = 0, baseLoss = 0;
  size_t same = 0;
};

class Comparison {
public:
  Comparison(mlir::MLIRContext &context, Engine &engine, const checkpoint::Checkpoint &model,
             const PartOptions &part, CalibrationText text, const ComparisonScope &scope,
             compiler::Progress &progress)
      : context(context), engine(engine), model(model), part(part), scope(scope),
        sequences(std::move(text.sequences)), progress(progress),
        hidden(static_cast<int64_t>(model.config().hiddenSize)), places(model.config()),
        layers(static_cast<int64_t>(model.config().layerCount())),
        compared(std::min<int64_t>(scope.sequences, static_cast<int64_t>(sequences.size()))) {
    difference.text = std::move(text.record);
  }

  Expected<EngineDifference> run() {
    progress.begin("compare with the checkpoint");
    if (auto recorded = recordEngine(); !recorded)
      return recorded.error();
    for (int64_t layer = compiler::ModelPart::kEmbedding; layer < layers; ++layer) {
      if (auto done = comparePart(layer); !done)
        return done.error();
      progress.update(static_cast<uint64_t>(layer + 2), static_cast<uint64_t>(layers + 2));
    }
    if (scope.predicts)
      if (auto done = comparePredictions(); !done)
        return done.error();
    progress.end();
    return std::move(difference);
  }

private:
  std::string tapOf(int64_t layer) const { return compiler::ModelPart{layer}.tap(); }

  /// Logits of the engine that is compared.
  Outcome recordLogits(std::span<const int32_t> tokens, std::vector<float> &rows) {
    rows.clear();
    const std::string taps[] = {"logits"};
    try {
      engine.record(tokens, {}, taps, [&](size_t, int64_t, std::span<const float> values) {
        rows.insert(rows.end(), values.begin(), values.end());
      });
      return {};
    } catch (const ingot::Error &error) {
      return compiler::errorOfRuntime(error.code(), error.what(), "comparing");
    }
  }

  /// What the engine has behind each part, of the sequences that are compared.
  Outcome recordEngine() {
    std::vector<std::string> taps;
    for (int64_t layer = compiler::ModelPart::kEmbedding; layer < layers; ++layer) {
      taps.push_back(tapOf(layer));
      auto file = RowFile::open(part.folder / ("engine-" + taps.back()), hidden);
      if (!file)
        return file.error();
      engineRows.push_back(*std::move(file));
    }
    try {
      for (int64_t i = 0; i < compared; ++i) {
        Outcome written;
        engine.record(sequences[static_cast<size_t>(i)], {}, taps,
                      [&](size_t tap, int64_t position, std::span<const float> values) {
                        if (written)
                          written = engineRows[tap].write(i * part.length + position, values);
                      });
        if (!written)
          return written;
      }
      return {};
    } catch (const ingot::Error &error) {
      return compiler::errorOfRuntime(error.code(), error.what(), "comparing");
    }
  }

  /// What the tap behind a part has, of the rows behind it.
  std::vector<float> tappedOf(int64_t layer, std::span<const float> rows) const {
    std::vector<float> values;
    const compiler::RowColumns place = places.stream(places.mainStream(layer));
    for (size_t row = 0; row < rows.size(); row += static_cast<size_t>(places.width())) {
      auto own = rows.subspan(row + static_cast<size_t>(place.first), static_cast<size_t>(hidden));
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }

  /// Replaces it by `values`.
  void setTapped(int64_t layer, std::span<const float> values, std::span<float> rows) const {
    auto to = rows.begin() + places.stream(places.mainStream(layer)).first;
    for (; !values.empty(); values = values.subspan(static_cast<size_t>(hidden))) {
      std::copy_n(values.begin(), hidden, to);
      to += places.width();
    }
  }

  /// Of the rows that the engine gives a part, those behind its taps are its own; others are what
  /// the checkpoint makes of them.
  Outcome comparePart(int64_t layer) {
    auto reference = PartEngine::build(context, part, layer, {});
    if (!reference)
      return reference.error();
    const bool isEmbedding = layer == compiler::ModelPart::kEmbedding;
    auto rows = openRows("compared", layer), next = openRows("compared", layer + 1),
         given = openRows("given", layer), nextGiven = openRows("given", layer + 1);
    for (auto *file : {&rows, &next, &given, &nextGiven})
      if (!*file)
        return file->error();
    DifferenceSums own, accumulated;
    InputRows inputs(hidden);
    const std::vector<int32_t> zeros(static_cast<size_t>(part.length));
    std::vector<float> values(static_cast<size_t>(part.length * places.width())),
        engineValues(static_cast<size_t>(part.length * hidden));
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto row = static_cast<int64_t>(i) * part.length;
      std::span<const int32_t> tokens = isEmbedding ? sequences[i] : zeros;
      const bool isCompared = static_cast<int64_t>(i) < compared;
      auto giveNext = [&] {
        setTapped(layer, engineValues, values);
        return nextGiven->write(row, values);
      };
      if (isCompared)
        if (auto read = engineRows[static_cast<size_t>(layer + 1)].read(row, engineValues); !read)
          return read;
      if (isCompared && !isEmbedding) {
        if (auto read = given->read(row, values); !read)
          return read;
        if (scope.describes)
          inputs.add(tappedOf(layer - 1, values));
        if (auto ran = reference->advance(tokens, values); !ran)
          return ran;
        own.add(engineValues, tappedOf(layer, values));
        if (auto written = giveNext(); !written)
          return written;
      }
      if (!isEmbedding)
        if (auto read = rows->read(row, values); !read)
          return read;
      if (auto ran = reference->advance(tokens, values); !ran)
        return ran;
      if (auto written = next->write(row, values); !written)
        return written;
      if (!isCompared)
        continue;
      accumulated.add(engineValues, tappedOf(layer, values));
      if (isEmbedding)
        if (auto written = giveNext(); !written)
          return written;
    }
    difference.parts.push_back({tapOf(layer), isEmbedding ? accumulated.relative() : own.relative(),
                                accumulated.relative()});
    if (scope.describes && !isEmbedding) {
      difference.parts.back().input = std::move(inputs).range();
      if (auto described = describeMatrices(reference->products()); !described)
        return described;
    }
    std::error_code ignored;
    for (std::string_view what : {"compared", "given"})
      std::filesystem::remove(rowsPath(what, layer), ignored);
    return {};
  }

  /// Those of the last part.
  Outcome describeMatrices(const compiler::ProductList &products) {
    for (const compiler::ProductGroup &group : products.groups)
      for (const compiler::Product &product : group.products) {
        auto range = rangeOf(model, product.weight);
        if (!range)
          return range.error();
        if (*range)
          difference.parts.back().matrices.push_back(**std::move(range));
      }
    return {};
  }

  Outcome comparePredictions() {
    auto head = PartEngine::build(context, part, layers, {});
    if (!head)
      return head.error();
    auto rows = openRows("compared", layers);
    if (!rows)
      return rows.error();
    Predictions predictions;
    const std::vector<int32_t> zeros(static_cast<size_t>(part.length));
    std::vector<float> given(static_cast<size_t>(part.length * places.width())), base, own;
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (auto read = rows->read(static_cast<int64_t>(i) * part.length, given); !read)
        return read;
      if (auto ran = head->recordLogits(zeros, given, base); !ran)
        return ran;
      if (auto ran = recordLogits(sequences[i], own); !ran)
        return ran;
      predictions.add(sequences[i], own, base, base.size() / static_cast<size_t>(part.length));
    }
    difference.prediction = predictions.result();
    return {};
  }

  /// Rows in front of a part; `what`: "compared" ones are the checkpoint's, "given" the engine's.
  std::filesystem::path rowsPath(std::string_view what, int64_t layer) const {
    return part.folder / checkpoint::message(what, "-", layer);
  }
  Expected<RowFile> openRows(std::string_view what, int64_t layer) const {
    return RowFile::open(rowsPath(what, layer), places.width());
  }

  mlir::MLIRContext &context;
  Engine &engine;
  const checkpoint::Checkpoint &model;
  const PartOptions &part;
  const ComparisonScope &scope;
  std::vector<std::vector<int32_t>> sequences;
  compiler::Progress &progress;
  int64_t hidden;
  const compiler::PartRows places;
  int64_t layers, compared;
  std::vector<RowFile> engineRows; ///< by part
  EngineDifference difference;
};

} // namespace

Expected<EngineDifference>
quantize::compareWithCheckpoint(mlir::MLIRContext &context, Engine &engine,
                                const checkpoint::Checkpoint &model, const PartOptions &part,
                                CalibrationText text, const ComparisonScope &scope,
                                compiler::Progress &progress) {
  return Comparison(context, engine, model, part, std::move(text), scope, progress).run();
}
