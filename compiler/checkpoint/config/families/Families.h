// SPDX-License-Identifier: Apache-2.0
// The only list of model families. A new one adds its file to this folder and its line here.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

// clang-format off
#define INGOT_FAMILIES(X) \
  X(apertus) \
  X(arcee) \
  X(bamba) \
  X(cohere) \
  X(cohere2) \
  X(deepSeekV2) \
  X(deepSeekV3) \
  X(deepSeekV32) \
  X(ernie45) \
  X(ernie45Moe) \
  X(exaone4) \
  X(exaoneMoe) \
  X(falconH1) \
  X(gemma2) \
  X(gemma3) \
  X(gemma3n) \
  X(gemma3nVision) \
  X(gemma3Vision) \
  X(gemma4) \
  X(gemma4Unified) \
  X(gemma4UnifiedVision) \
  X(gemma4Vision) \
  X(glm4) \
  X(glm4Moe) \
  X(glm4MoeLite) \
  X(glmMoeDsa) \
  X(gpt2) \
  X(gptNeoX) \
  X(gptOss) \
  X(granite) \
  X(graniteHybrid) \
  X(graniteMoe) \
  X(graniteMoeShared) \
  X(hunYuanDense) \
  X(hunYuanMoe) \
  X(hy3) \
  X(idefics3) \
  X(kimiK25) \
  X(kimiK25Saved) \
  X(lfm2) \
  X(lfm2Moe) \
  X(llama) \
  X(llama4) \
  X(llama4Vision) \
  X(miMoV2) \
  X(miniMaxM2) \
  X(ministral3) \
  X(mistral) \
  X(mistral3) \
  X(mistral4) \
  X(mixtral) \
  X(nemotronH) \
  X(olmo2) \
  X(olmo3) \
  X(phi3) \
  X(qwen2) \
  X(qwen25Vl) \
  X(qwen2Moe) \
  X(qwen3) \
  X(qwen35) \
  X(qwen35Moe) \
  X(qwen35MoeVision) \
  X(qwen35Vision) \
  X(qwen3Moe) \
  X(qwen3Next) \
  X(qwen3Vl) \
  X(qwen3VlMoe) \
  X(qwen3VlMoeText) \
  X(seedOss) \
  X(smolLm3) \
  X(smolVlm) \
  X(stableLm) \
  X(starCoder2)
// clang-format on

namespace ingot::checkpoint::families {

#define INGOT_FAMILY(name) extern const Family name;
INGOT_FAMILIES(INGOT_FAMILY)
#undef INGOT_FAMILY

#define INGOT_FAMILY(name) &name,
inline constexpr const Family *all[] = {INGOT_FAMILIES(INGOT_FAMILY)};
#undef INGOT_FAMILY

} // namespace ingot::checkpoint::families
