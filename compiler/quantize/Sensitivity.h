// SPDX-License-Identifier: Apache-2.0
// What each matrix of a model costs in each format that it may get: bytes, and divergence.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/QuantizeOptions.h"

namespace ingot::quantize {

/// A format that a matrix may get.
struct FormatCost {
  recipe::WeightFormat format;
  uint64_t bytes = 0;    ///< of all tensors that stand for the matrix
  double divergence = 0; ///< mean Kullback-Leibler divergence in nats that it adds, estimated
};

/// A matrix of a layer.
struct MatrixSensitivity {
  std::string weight; ///< by its name in the checkpoint
  uint64_t elements = 0;
  std::vector<FormatCost> formats; ///< as stored, then those it may get; sizes grow from the second
};

/// The bytes of all matrices of measureSensitivity(), without what they add: nothing is run and no
/// weight read. Those of a mix are at least these. Errors: those of importers and of encodings.
checkpoint::Expected<std::vector<MatrixSensitivity>>
sizesInFormats(mlir::MLIRContext &context, const QuantizeOptions &options,
               const checkpoint::Checkpoint &model);

/// The matrices of all layers that are products, in the order of the program. Those that the recipe
/// quantizes may get int4, with its zero points, in groups of 128, 64 and 32, and int8. Each of
/// them alone is quantized by the recipe's method to the smallest, and the model run with it to its
/// logits on some sequences of the calibration text; the other formats add as much less as rounding
/// to them changes the matrix's outputs less. `part.folder` is for rows. Errors: those of
/// Calibration and quantizeLayer().
checkpoint::Expected<std::vector<MatrixSensitivity>>
measureSensitivity(mlir::MLIRContext &context, const QuantizeOptions &options,
                   const checkpoint::Checkpoint &model, const PartOptions &part,
                   compiler::Progress &progress);

} // namespace ingot::quantize
