// SPDX-License-Identifier: Apache-2.0
// The multipliers of Granite models.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

inline constexpr NumberKey kGraniteMultipliers[] = {
    factorKey("embedding_multiplier", &ModelConfig::embeddingMultiplier, 1),
    factorKey("residual_multiplier", &ModelConfig::residualMultiplier, 1),
    factorKey("attention_multiplier", &Attention::scaling, 1),
    factorKey("logits_scaling", &ModelConfig::logitsDivisor, 1)};

/// The same of GGUF files.
inline constexpr NumberKey kGgufGraniteMultipliers[] = {
    factorKey("embedding_scale", &ModelConfig::embeddingMultiplier, 1),
    factorKey("residual_scale", &ModelConfig::residualMultiplier, 1),
    factorKey("attention.scale", &Attention::scaling, 0),
    factorKey("logit_scale", &ModelConfig::logitsDivisor, 1)};

} // namespace ingot::checkpoint
