// SPDX-License-Identifier: Apache-2.0
// Runs a model layer by layer over sequences and hands the inputs of its products on.
#pragma once

#include "compiler/quantize/CalibrationText.h"
#include "compiler/quantize/LayerQuantizer.h"
#include "compiler/quantize/PartEngine.h"
#include "compiler/quantize/RowFile.h"

namespace ingot::quantize {

/// Rows of each product's input that searches read. Four times as many take four times as long.
inline constexpr int64_t kSampledRows = 1024;

/// The rows between two layers, of all sequences: of the model as it is, and of the one whose
/// layers up to here are quantized. Both are files of a folder.
class Calibration {
public:
  /// `folder`: for rows, which stay there until the next layer is done.
  Calibration(mlir::MLIRContext &context, const PartOptions &part, std::filesystem::path folder,
              int64_t hidden, bool isAsymmetric)
      : context(context), part(part), folder(std::move(folder)), hidden(hidden),
        isAsymmetric(isAsymmetric) {}

  using Progress = std::function<void(int64_t done, int64_t total)>;

  /// Tokenizes and embeds the text. Errors: those of readCalibrationText and of parts.
  checkpoint::Outcome begin(const TextOptions &text, const Progress &progress);
  /// Goes on behind `layers` quantized layers, from what their run left in the folder. Errors:
  /// those of RowFile.
  checkpoint::Outcome resume(int64_t layers, int64_t count);
  int64_t sequences() const { return count; }

  /// What the inputs of each group that `wanted` takes are, in order.
  checkpoint::Expected<std::vector<InputStatistics>>
  observe(PartEngine &engine, int64_t layer,
          const std::function<bool(const compiler::ProductGroup &)> &wanted,
          const Progress &progress);
  /// Of the last observation: the largest magnitudes of keys and of values of each cache that is
  /// tapped.
  std::span<const float> cacheMaxima() const { return cacheMost; }
  /// Moves on behind `layer`, whose engine with the quantized weights `engine` is.
  checkpoint::Outcome advance(PartEngine &engine, int64_t layer, const Progress &progress);
  /// Removes rows that only the layers before `layer` need.
  void forget(int64_t layer);

private:
  /// The rows in front of a layer.
  std::filesystem::path rowsPath(int64_t layer, bool quantized) const;
  bool hasOriginal(int64_t layer) const { return isAsymmetric && layer > 0; }

  mlir::MLIRContext &context;
  const PartOptions &part;
  std::filesystem::path folder;
  int64_t hidden, count = 0;
  std::vector<float> cacheMost;
  bool isAsymmetric;
};

} // namespace ingot::quantize
