// SPDX-License-Identifier: Apache-2.0
// Measures how much each column of each matrix of a model counts.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/CalibrationText.h"
#include "compiler/quantize/PartEngine.h"
#include "compiler/quantize/ggml/ImportanceMatrix.h"

namespace ingot::quantize {

/// Runs `model` layer by layer on `text` and sums the squares of what each stored matrix reads;
/// entries have the names of the model's file. Matrices that are stored quantized, and experts',
/// are not measured, which a warning says. `part.folder` is for rows and empty afterwards. Errors:
/// those of Calibration.
checkpoint::Expected<ImportanceMatrix>
measureImportance(mlir::MLIRContext &context, const checkpoint::Checkpoint &model,
                  const PartOptions &part, const TextOptions &text, compiler::Progress &progress);

} // namespace ingot::quantize
