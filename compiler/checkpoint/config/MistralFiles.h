// SPDX-License-Identifier: Apache-2.0
// Models as Mistral publishes them: params.json and consolidated.safetensors.
#pragma once

#include "compiler/checkpoint/config/ModelConfig.h"

namespace ingot::checkpoint {

inline constexpr std::string_view mistralParamsFile = "params.json";

/// The configuration in a params.json: that of MistralForCausalLM, or of MixtralForCausalLM where
/// there are experts. Errors: those of Json, INGOT-E1051, and E1057 for a key that is not known.
Expected<ModelConfig> parseMistralParams(std::string_view text, const std::string &fileName);
Expected<ModelConfig> readMistralParams(const std::filesystem::path &path);

/// "layers.3.attention.wq.weight" → "model.layers.3.self_attn.q_proj.weight". Nothing for other
/// names.
std::optional<std::string> modelNameOfMistral(std::string_view name);

} // namespace ingot::checkpoint
