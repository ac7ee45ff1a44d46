// SPDX-License-Identifier: Apache-2.0
// A LoRA adapter as the PEFT library saves it: adapter_config.json beside
// adapter_model.safetensors.
#pragma once

#include "compiler/checkpoint/config/ModulePattern.h"
#include "compiler/checkpoint/files/Deviation.h"
#include "compiler/checkpoint/files/Tensor.h"

#include <filesystem>
#include <map>
#include <optional>
#include <span>

namespace ingot::checkpoint {

/// A number for the modules whose names match.
struct AdapterPattern {
  std::string key; ///< alpha_pattern or rank_pattern
  std::string text;
  ModulePattern pattern;
  double number = 0;
  bool isUsed = false; ///< by a module
};

/// What of adapter_config.json counts for merging: W + scale * B * A, with A [r, K], B [N, r].
struct AdapterConfig {
  double alpha = 0;                     ///< lora_alpha
  std::optional<uint64_t> rank;         ///< r
  double factor = 1;                    ///< what the user asks for
  bool rootOfRank = false;              ///< use_rslora: alpha is divided by sqrt(r) instead of r
  std::vector<AdapterPattern> patterns; ///< as the file has them: of each key the first one counts
  bool gateAndUp = false, down = false; ///< target_parameters: these of stacked experts
  std::map<std::string, double, std::less<>> alphas; ///< of modules that have their own
  std::vector<Deviation> deviations;                 ///< from what the file states

  double scale(std::string_view matrix, uint64_t rank) const;

  /// Says which matrices there are, by the tensors of their first factors: finds their numbers.
  /// `experts`: how many matrices lie in one tensor of stacked experts. Errors: INGOT-E1120 for a
  /// pattern that takes too long, E1080 for another rank than is stated.
  Outcome settle(std::span<const Tensor> tensors, const std::string &where, uint64_t experts = 1);

  /// adapterTensorNamed(), where PEFT wraps the module of stacked experts once for each of its
  /// parameters: the inner wrapper is that of gate_up_proj.
  std::optional<std::string> tensorNamed(std::string_view stored) const;

  /// Errors: those of Json, and INGOT-E1120 for what cannot be merged into weights alone (DoRA,
  /// biases, modules saved whole), changes the model that it is for, or is no LoRA, naming the key.
  static Expected<AdapterConfig> read(const std::filesystem::path &path);
};

/// The two tensors of a matrix in a checkpoint that an adapter was added to:
/// "model.layers.0.self_attn.q_proj.lora_A.weight" for "model.layers.0.self_attn.q_proj.weight".
std::string adapterTensor(std::string_view matrix, char factor);

/// The name above for a tensor of adapter_model.safetensors; nothing for one that is no factor of a
/// matrix.
std::optional<std::string> adapterTensorNamed(std::string_view stored);

/// Whether a module is a parameter that holds a matrix of each expert, as transformers names it:
/// "model.layers.0.mlp.experts.gate_up_proj". Its factors are [experts * r, columns], the r rows of
/// an expert together, and [rows, r * experts], the columns of all experts in turn.
bool isStackedExperts(std::string_view module);

/// Whether a tensor has a name that adapterTensor gives.
bool isAdapterTensor(std::string_view name);

} // namespace ingot::checkpoint
