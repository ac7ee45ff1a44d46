// SPDX-License-Identifier: Apache-2.0
// A LoRA adapter as the PEFT library saves it: adapter_config.json beside
// adapter_model.safetensors.
#pragma once

#include "compiler/checkpoint/Error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// What of adapter_config.json counts for merging: W + scale(r) * B * A, with A [r, K], B [N, r].
struct AdapterConfig {
  double alpha = 0;        ///< lora_alpha, times what the user asks for
  bool rootOfRank = false; ///< use_rslora: alpha is divided by sqrt(r) instead of r

  double scale(uint64_t rank) const;

  /// Errors: those of Json, and INGOT-E1120 for what cannot be merged into weights alone (DoRA,
  /// biases, modules saved whole) or is no LoRA, naming the key.
  static Expected<AdapterConfig> read(const std::filesystem::path &path);
};

/// The two tensors of a matrix in a checkpoint that an adapter was added to:
/// "model.layers.0.self_attn.q_proj.lora_A.weight" for "model.layers.0.self_attn.q_proj.weight".
std::string adapterTensor(std::string_view matrix, char factor);

/// The name above for a tensor of adapter_model.safetensors; nothing for one that is no factor of a
/// matrix.
std::optional<std::string> adapterTensorNamed(std::string_view stored);

/// Whether a tensor has a name that adapterTensor gives.
bool isAdapterTensor(std::string_view name);

} // namespace ingot::checkpoint
