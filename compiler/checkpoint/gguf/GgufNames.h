// SPDX-License-Identifier: Apache-2.0
// The names of tensors in GGUF files and in Hugging Face checkpoints. Importers and recipes know
// the latter only.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/files/Tensor.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

struct ModelConfig;

/// "blk.3.attn_q.weight" → "model.layers.3.self_attn.q_proj.weight", in a model of this
/// configuration. Nothing for names that the table does not have.
std::optional<std::string> modelNameOf(std::string_view ggufName, const ModelConfig &config);

/// The way back. Matrices of experts and of streams have the name of the stack of all of them.
std::optional<std::string> ggufNameOf(std::string_view modelName, const ModelConfig &config);

/// Gives tensors the names that the table has for them. A stack of matrices becomes one tensor
/// for each, and one of q, k and v three; a vector that takes part as a matrix of one row gets that
/// shape, and filters of channels the one of checkpoints. Errors: INGOT-E1124 for a stack that is
/// none of so many matrices, and for q, k and v of another number of rows.
Expected<std::vector<Tensor>> nameTensors(std::vector<Tensor> tensors, const ModelConfig &config,
                                          const std::string &where);

} // namespace ingot::checkpoint
