// SPDX-License-Identifier: Apache-2.0
// One part of a model as an engine that this process runs: the embedding, or a layer with taps at
// the inputs of its products.
#pragma once

#include "compiler/analysis/Products.h"
#include "compiler/build/PreviewEngine.h"
#include "compiler/importers/PartRows.h"
#include "compiler/quantize/CalibrationText.h"

#include "ingot/ingot.hpp"

namespace ingot::quantize {

/// What parts run on where nothing else is asked for. Products in f32 have one order of sums on all
/// x86-64 levels (docs/determinism.md), so that all machines give the same bytes.
inline constexpr char kCalibrationTarget[] = "native";

/// What all parts have in common.
struct PartOptions {
  compiler::BuildOptions build;        ///< model, target, threads, memory, cache
  std::filesystem::path folder;        ///< for files without names
  checkpoint::TokenizerSpec tokenizer; ///< of the model
  int64_t length = 512;                ///< tokens of a sequence
  bool tapsCaches = false;             ///< keys and values that KV caches get are taps too
};

/// The engine, in f32, of the part `layer` of the model, as ModelPart counts. It is gone with this.
class PartEngine {
public:
  /// `replacing`: safetensors files whose tensors take the place of the model's. Errors: those of
  /// builds and of the runtime.
  static checkpoint::Expected<PartEngine> build(mlir::MLIRContext &context,
                                                const PartOptions &options, int64_t layer,
                                                std::span<const std::filesystem::path> replacing);

  /// The taps of what the part changes in the rows that it is given (compiler::PartRows).
  const std::vector<std::string> &resultTaps() const { return taps; }
  /// Puts what resultTaps()[`index`] has, from the token `position` on, into `rows`.
  void put(size_t index, int64_t position, std::span<const float> values,
           std::span<float> rows) const;
  const compiler::ProductList &products() const { return productList; }
  Engine &engine() { return *opened; }

  /// Runs one sequence; as Engine::record. Errors: those of the runtime.
  checkpoint::Outcome record(std::span<const int32_t> tokens, std::span<const float> embeddings,
                             std::span<const std::string> taps, const Engine::TapVisitor &visit);

  /// Runs one sequence: `rows` in front of the part, of each token and none for the embedding,
  /// become those behind it. Errors: those of the runtime.
  checkpoint::Outcome advance(std::span<const int32_t> tokens, std::vector<float> &rows);

  /// Runs one sequence through the head; `logits` becomes what it gives.
  checkpoint::Outcome recordLogits(std::span<const int32_t> tokens, std::span<const float> rows,
                                   std::vector<float> &logits);

private:
  PartEngine() = default;
  void describeResults(const compiler::PartRows &rows, int64_t layer);

  bool isEmbedding = false;
  int64_t width = 0; ///< of rows
  std::vector<std::string> taps;
  std::vector<compiler::RowColumns> places; ///< of what each tap has
  compiler::ProductList productList;
  std::optional<compiler::PreviewEngine> preview;
  std::unique_ptr<Engine> opened;
};

/// The text's sequences of `part.length` tokens, by the tokenizer and chat template of `engine`.
/// Errors: INGOT-E2145 for a conversation that the template does not take; those of
/// readCalibrationText() and of the runtime.
checkpoint::Expected<CalibrationText> sequencesFor(Engine &engine, const TextOptions &text,
                                                   const PartOptions &part);

} // namespace ingot::quantize
