// SPDX-License-Identifier: Apache-2.0
// The options of a quantization, and what follows from them and the model before any work.
#pragma once

#include "compiler/quantize/CalibrationText.h"
#include "compiler/quantize/LayerQuantizer.h"
#include "compiler/quantize/PartEngine.h"

namespace ingot::quantize {

struct QuantizeOptions {
  std::filesystem::path model; ///< a folder with 16-bit or f32 weights
  std::filesystem::path output;
  recipe::Recipe recipe;
  std::string format; ///< of layoutNames(); empty: layoutFor() the recipe
  std::string target = kCalibrationTarget;
  TextOptions text;
  unsigned threads = 0;
  uint64_t maxMemory = uint64_t{2} << 30;
  codegen::BuildCache *cache = nullptr;
};

/// The error of machines that isSupportedHere() is false on.
checkpoint::Error unsupportedHere();

/// Whether the model, read from `path`, can be run on such sequences of such texts. Errors:
/// those of tokenizers, checkLength() and checkTexts().
checkpoint::Outcome checkText(const TextOptions &text, const checkpoint::Checkpoint &model,
                              const std::filesystem::path &path);
/// What a run that goes on must find again: this version, and the files, by their contents where a
/// cache keeps digests, else by their stamps.
std::string revisionAndFiles(std::span<const std::filesystem::path> files,
                             const QuantizeOptions &options);

/// What can be refused before any work. Errors: INGOT-E2105 to E2113, and those of checkText().
checkpoint::Outcome checkOptions(const QuantizeOptions &options,
                                 const checkpoint::Checkpoint &model);

/// Whether `bytes` are free where `path` is, or its next folder that is there. Errors: INGOT-E7011.
checkpoint::Outcome checkSpace(const std::filesystem::path &path, uint64_t bytes);

/// Of all tensors.
uint64_t weightBytes(const checkpoint::Checkpoint &model);

/// Makes a folder for files that are kept until the end. Errors: INGOT-E7010.
checkpoint::Outcome makeWorkFolder(const std::filesystem::path &folder);

/// Parts of the model with files in `folder`, which is made. Errors: those of tokenizers and
/// INGOT-E7010.
checkpoint::Expected<PartOptions> partOptions(const QuantizeOptions &options,
                                              const std::filesystem::path &folder);

/// How layers are quantized: by `options`, whose format exists.
LayerSettings layerSettings(const QuantizeOptions &options, const checkpoint::Checkpoint &model);

/// A digest of all that decides about the result; files as in revisionAndFiles().
std::string keyOf(const QuantizeOptions &options, const checkpoint::Checkpoint &model);

/// The products of a layer, without an engine. Errors: those of importers.
checkpoint::Expected<compiler::ProductList> productsOf(mlir::MLIRContext &context,
                                                       const checkpoint::Checkpoint &model,
                                                       int64_t layer, int64_t length);

/// What a run does with layers.
enum class LayerRun : uint8_t {
  Quantizes,
  Searches, ///< quantizes one matrix after the other, each for itself, and looks at all inputs
};

/// Whether the recipe asks for anything, and memory is enough for it. Errors: INGOT-E2106, E2122.
checkpoint::Outcome checkRecipe(mlir::MLIRContext &context, const QuantizeOptions &options,
                                const checkpoint::Checkpoint &model, LayerRun run);

} // namespace ingot::quantize
