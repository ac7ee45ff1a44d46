// SPDX-License-Identifier: Apache-2.0
// One part of a model as an engine that this process runs: the embedding, or a layer with taps at
// the inputs of its products.
#pragma once

#include "compiler/analysis/Products.h"
#include "compiler/build/PreviewEngine.h"
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

  /// The tap of the part's results.
  const std::string &resultTap() const { return result; }
  const compiler::ProductList &products() const { return productList; }
  Engine &engine() { return *opened; }

  /// Runs one sequence; as Engine::record. Errors: those of the runtime.
  checkpoint::Outcome record(std::span<const int32_t> tokens, std::span<const float> embeddings,
                             std::span<const std::string> taps, const Engine::TapVisitor &visit);

  /// The same for one tap; `rows` becomes what it holds.
  checkpoint::Outcome recordInto(std::span<const int32_t> tokens, std::span<const float> embeddings,
                                 const std::string &tap, std::vector<float> &rows);

private:
  PartEngine() = default;

  std::string result;
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
