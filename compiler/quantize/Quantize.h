// SPDX-License-Identifier: Apache-2.0
// Quantizes a checkpoint into a checkpoint that other programs load too: what `ingot quantize`
// does.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/QuantizeOptions.h"

namespace ingot::quantize {

struct QuantizeReport {
  std::vector<ModuleRecord> modules;
  std::vector<std::string> kept; ///< products that stay as they are
  nlohmann::ordered_json text;   ///< a CalibrationText's record; null where none was read
  uint64_t bytes = 0;            ///< of the weights' files
  uint64_t peakMemory = 0;
  double seconds = 0;
};

/// Rotates the model where the recipe asks for it, which is all where no rule quantizes. Quantizes
/// what the recipe's rules give formats of fewer than 16 bits; all else stays. Layer by layer: each
/// is run on the calibration text, with the quantized layers before it, and its matrices are
/// encoded by the recipe's method. The same inputs, options and target give the same bytes, with
/// any number of threads. A run that was ended goes on at its layer. The output's folder appears
/// whole or not at all. Errors: INGOT-E2105 to E2121, those of rotatedIfAsked(), of readers, builds
/// and methods.
checkpoint::Expected<QuantizeReport> quantizeCheckpoint(mlir::MLIRContext &context,
                                                        const QuantizeOptions &options,
                                                        compiler::Progress &progress);

} // namespace ingot::quantize
