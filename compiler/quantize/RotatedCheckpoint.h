// SPDX-License-Identifier: Apache-2.0
// A checkpoint that computes what another does, with the channels of its residual stream and of its
// heads of values rotated (QuaRot, arXiv 2404.00456, as far as it lies in the weights).
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/QuantizeOptions.h"

namespace ingot::quantize {

/// The model that is quantized: `model`, or where the recipe rotates it the rotated one, in a
/// folder of `folder` that `options.model` then is, unless a run that was ended left it there.
/// Factors of norms become 1 and go into what reads them; a head that is tied to the embedding
/// becomes a tensor of its own. Numbers are computed in f32, sums in f64, and rounded to the
/// tensor's type, as they would be stored: next to the error of 8 bits and fewer that of bf16 is
/// small. Memory holds a matrix at a time that writes the stream, in f32, and parts of others. The
/// same bytes with any number of threads. Errors: INGOT-E2160 to E2162, those of importers, readers
/// and writers.
checkpoint::Expected<checkpoint::Checkpoint>
rotatedIfAsked(mlir::MLIRContext &context, QuantizeOptions &options, checkpoint::Checkpoint model,
               const std::filesystem::path &folder, compiler::Progress &progress);

} // namespace ingot::quantize
