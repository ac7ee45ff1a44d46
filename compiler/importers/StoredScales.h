// SPDX-License-Identifier: Apache-2.0
// Numbers of a checkpoint that builds read, among them scales that it was calibrated with: of the
// inputs of its products, and of its KV cache.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"

namespace ingot::compiler {

/// The one number, of type F32, BF16 or F16, in the tensor called `name`. Errors: INGOT-E1038 for a
/// missing tensor, E1054 for several numbers, E1081 for other types, E1125 unless it is finite; one
/// that `isBound` may be infinite.
checkpoint::Expected<float> storedNumber(const checkpoint::Checkpoint &checkpoint,
                                         const std::string &name, bool isBound = false);

/// All numbers, of such a type, in the tensor called `name`. Errors: INGOT-E1038 and E1081
/// likewise.
checkpoint::Expected<std::vector<float>> storedNumbers(const checkpoint::Checkpoint &checkpoint,
                                                       const std::string &name);

/// What a value is divided by before it is rounded to 8 bits: storedNumber, which must be positive.
checkpoint::Expected<float> storedScale(const checkpoint::Checkpoint &checkpoint,
                                        const std::string &name);

/// Whether all numbers of the tensor called `name`, which is there, are 1; false where they cannot
/// be read.
bool isOfOnes(const checkpoint::Checkpoint &checkpoint, const std::string &name);

/// The tensor that has the scale of the inputs of the matrix called `weight`
/// ("model.layers.0.mlp.up_proj.weight").
std::string inputScaleOf(const std::string &weight);

/// Tensors with the scales of keys and of values.
struct KvScaleNames {
  std::string keys, values;
};

/// Those of the attention that `prefix` stands for ("model.layers.0.self_attn."), by the names that
/// compressed-tensors, ModelOpt or AutoFP8 give them; nothing where one is missing.
std::optional<KvScaleNames> kvScaleNames(const checkpoint::Checkpoint &checkpoint,
                                         const std::string &prefix);

/// Layers that have scales of their keys and values.
uint64_t layersWithKvScales(const checkpoint::Checkpoint &checkpoint);

} // namespace ingot::compiler
