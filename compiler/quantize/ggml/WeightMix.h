// SPDX-License-Identifier: Apache-2.0
// Mixes: which type each tensor of a model becomes, by the rules of llama-quantize.
#pragma once

#include "compiler/checkpoint/files/Tensor.h"
#include "compiler/checkpoint/gguf/Gguf.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::quantize {

struct WeightMix;

/// q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k_s, q3_k_m, q3_k_l, q4_k_s, q4_k_m, q5_k_s, q5_k_m,
/// q6_k, iq4_nl, iq4_xs.
std::vector<std::string_view> weightMixNames();
/// Nothing for other names. Lives forever.
const WeightMix *weightMixFromName(std::string_view name);
std::string_view nameOf(const WeightMix &mix);
/// What `general.file_type` says of a file of this mix.
uint32_t fileTypeOf(const WeightMix &mix);

/// What of a model decides about its mix.
struct MixedModel {
  uint64_t layers = 0, heads = 0, kvHeads = 0, experts = 0;
  bool isOf70B = false; ///< one of the Llamas and Qwen2s of 80 layers, with few heads of values

  static MixedModel of(const checkpoint::Json &metadata);
};

struct MixChoice {
  checkpoint::DType dtype = checkpoint::DType::F32;
  /// The type of the mix, where the tensor's rows are no whole number of its blocks.
  std::optional<checkpoint::DType> instead;
};

/// The type of each of `tensors`, all those of a model, in their order.
std::vector<MixChoice> chooseTypes(const WeightMix &mix, const MixedModel &model,
                                   std::span<const checkpoint::Tensor> tensors, bool hasImportance);

} // namespace ingot::quantize
