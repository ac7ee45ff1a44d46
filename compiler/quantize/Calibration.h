// SPDX-License-Identifier: Apache-2.0
// Runs a model layer by layer over sequences and hands the inputs of its products on.
#pragma once

#include "compiler/quantize/CalibrationText.h"
#include "compiler/quantize/InputStatistics.h"
#include "compiler/quantize/PartEngine.h"
#include "compiler/quantize/RowFile.h"

namespace ingot::quantize {

/// What is to be known of inputs.
enum class Knowledge : uint8_t {
  Squares,    ///< of columns
  Products,   ///< of two columns: second moments
  Asymmetric, ///< and of what the unquantized model's inputs differ by, as far as GPTQ reads it
  AsymmetricWhole, ///< the same for sweeps of coordinate descent
};

/// The rows between two layers, of all sequences: of the model as it is, and of the one whose
/// layers up to here are quantized. Both are files of a folder.
class Calibration {
public:
  /// `folder`: for rows, which stay there until the next layer is done; `config`: of the model.
  Calibration(mlir::MLIRContext &context, const PartOptions &part, std::filesystem::path folder,
              const checkpoint::ModelConfig &config, Knowledge knowledge)
      : context(context), part(part), folder(std::move(folder)),
        width(compiler::PartRows(config).width()), knowledge(knowledge) {}

  using Progress = std::function<void(int64_t done, int64_t total)>;

  /// Tokenizes and embeds the text. Errors: those of readCalibrationText and of parts.
  checkpoint::Outcome begin(const TextOptions &options, const Progress &progress);
  /// Goes on behind `layers` quantized layers, from what their run left in the folder. Errors:
  /// those of RowFile.
  checkpoint::Outcome resume(int64_t layers, int64_t count);
  int64_t sequences() const { return count; }
  /// What begin() read: a CalibrationText's record.
  const nlohmann::ordered_json &text() const { return record; }
  /// The rows in front of a layer that is not done: of all sequences, one after the other. Errors:
  /// those of RowFile.
  checkpoint::Expected<RowFile> rows(int64_t layer) const {
    return RowFile::open(rowsPath(layer, true), width);
  }

  /// What the inputs of `groups` are, in their order. The first of several passes over a layer
  /// `keepsResults`, of the model as it is, for the next one.
  checkpoint::Expected<std::vector<InputStatistics>>
  observe(PartEngine &engine, int64_t layer, std::span<const compiler::ProductGroup *const> groups,
          bool keepsResults, const Progress &progress);
  /// Of the last observation that kept results: the largest magnitudes of keys and of values of
  /// each cache that is tapped.
  std::span<const float> cacheMaxima() const { return cacheMost; }
  /// Moves on behind `layer`, whose engine with the quantized weights `engine` is.
  checkpoint::Outcome advance(PartEngine &engine, int64_t layer, const Progress &progress);
  /// Removes rows that only the layers before `layer` need.
  void forget(int64_t layer);

private:
  /// The rows in front of a layer.
  std::filesystem::path rowsPath(int64_t layer, bool quantized) const;
  bool isAsymmetric() const { return knowledge >= Knowledge::Asymmetric; }
  CrossSums sumsOf(int64_t layer) const;
  bool hasOriginal(int64_t layer) const { return isAsymmetric() && layer > 0; }

  mlir::MLIRContext &context;
  const PartOptions &part;
  std::filesystem::path folder;
  nlohmann::ordered_json record;
  int64_t width, count = 0; ///< of rows, and of sequences
  Knowledge knowledge;
  std::vector<float> cacheMost;
};

} // namespace ingot::quantize
