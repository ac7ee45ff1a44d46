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
        hidden(static_cast<int64_t>(model.config().hiddenSize)),
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

  Outcome comparePart(int64_t layer) {
    auto reference = PartEngine::build(context, part, layer, {});
    if (!reference)
      return reference.error();
    const bool isEmbedding = layer == compiler::ModelPart::kEmbedding;
    auto rows = RowFile::open(rowsPath(layer), hidden),
         next = RowFile::open(rowsPath(layer + 1), hidden);
    if (!rows || !next)
      return rows ? next.error() : rows.error();
    DifferenceSums own, accumulated;
    InputRows inputs(hidden);
    const std::vector<int32_t> zeros(static_cast<size_t>(part.length));
    const size_t elements = static_cast<size_t>(part.length * hidden);
    std::vector<float> given(isEmbedding ? 0 : elements), result, engineResult(elements);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto row = static_cast<int64_t>(i) * part.length;
      std::span<const int32_t> tokens = isEmbedding ? sequences[i] : zeros;
      const size_t index = static_cast<size_t>(layer + 1);
      const bool isCompared = static_cast<int64_t>(i) < compared;
      if (isCompared)
        if (auto read = engineRows[index].read(row, engineResult); !read)
          return read;
      if (isCompared && !isEmbedding) {
        if (auto read = engineRows[index - 1].read(row, given); !read)
          return read;
        if (auto ran = reference->recordInto(tokens, given, reference->resultTap(), result); !ran)
          return ran;
        own.add(engineResult, result);
        if (scope.describes)
          inputs.add(given);
      }
      if (!isEmbedding)
        if (auto read = rows->read(row, given); !read)
          return read;
      if (auto ran = reference->recordInto(tokens, given, reference->resultTap(), result); !ran)
        return ran;
      if (isCompared)
        accumulated.add(engineResult, result);
      if (auto written = next->write(row, result); !written)
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
    std::filesystem::remove(rowsPath(layer), ignored);
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
    auto rows = RowFile::open(rowsPath(layers), hidden);
    if (!rows)
      return rows.error();
    Predictions predictions;
    const std::vector<int32_t> zeros(static_cast<size_t>(part.length));
    std::vector<float> given(static_cast<size_t>(part.length * hidden)), base, own;
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (auto read = rows->read(static_cast<int64_t>(i) * part.length, given); !read)
        return read;
      if (auto ran = head->recordInto(zeros, given, "logits", base); !ran)
        return ran;
      if (auto ran = recordLogits(sequences[i], own); !ran)
        return ran;
      predictions.add(sequences[i], own, base, base.size() / static_cast<size_t>(part.length));
    }
    difference.prediction = predictions.result();
    return {};
  }

  std::filesystem::path rowsPath(int64_t layer) const {
    return part.folder / checkpoint::message("compared-", layer);
  }

  mlir::MLIRContext &context;
  Engine &engine;
  const checkpoint::Checkpoint &model;
  const PartOptions &part;
  const ComparisonScope &scope;
  std::vector<std::vector<int32_t>> sequences;
  compiler::Progress &progress;
  int64_t hidden, layers, compared;
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
