// SPDX-License-Identifier: Apache-2.0
// Matrices of products, wherever the model's files have them: as tensors of their own, transposed,
// or in a stack of experts' matrices.
#pragma once

#include "compiler/analysis/Products.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/SafetensorsWriter.h"

namespace ingot::quantize {

/// The tensor that holds the matrix, by the model's name.
const std::string &holderOf(const compiler::Product &product);

/// What files call the matrix where it is a tensor of its own.
std::string shownName(const checkpoint::Checkpoint &checkpoint, const compiler::Product &product);

/// `count` values of a tensor from the `first` on, as f32. Errors: those of reading.
checkpoint::Expected<std::vector<float>> readValues(const checkpoint::Checkpoint &checkpoint,
                                                    const checkpoint::Tensor &tensor,
                                                    uint64_t first, uint64_t count);

/// The values [rows, columns]. Errors: those of reading.
checkpoint::Expected<std::vector<float>> readMatrix(const checkpoint::Checkpoint &checkpoint,
                                                    const compiler::Product &product);

/// Values [rows, columns] in `type` as the model has them in a tensor of its own, by its name.
TensorData plainMatrix(const compiler::Product &product, checkpoint::DType type,
                       std::vector<float> values);

} // namespace ingot::quantize
