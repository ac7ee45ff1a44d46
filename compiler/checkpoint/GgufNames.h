// SPDX-License-Identifier: Apache-2.0
// The names of tensors in GGUF files and in Hugging Face checkpoints. Importers and recipes know
// the latter only.
#pragma once

#include "compiler/checkpoint/ModelConfig.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// "blk.3.attn_q.weight" → "model.layers.3.self_attn.q_proj.weight", of a model whose layers have
/// these norms. Nothing for names that the table does not have.
std::optional<std::string> modelNameOf(std::string_view ggufName, LayerNorms norms);

/// The way back.
std::optional<std::string> ggufNameOf(std::string_view modelName, LayerNorms norms);

} // namespace ingot::checkpoint
