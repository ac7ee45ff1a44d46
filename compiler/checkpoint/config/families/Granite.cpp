// SPDX-License-Identifier: Apache-2.0
// Granite: multipliers of embeddings, residuals and scores; divided logits.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GraniteKeys.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};
static constexpr NumberKey ggufMultipliers[] = {
    factorKey("embedding_scale", &ModelConfig::embeddingMultiplier, 1),
    factorKey("residual_scale", &ModelConfig::residualMultiplier, 1),
    factorKey("attention.scale", &Attention::scaling, 0),
    factorKey("logit_scale", &ModelConfig::logitsDivisor, 1)};

constinit const Family granite = {
    .architecture = "GraniteForCausalLM",
    .json = {.bos = 1, .eos = 2, .keys = {.flags = flags, .numbers = kGraniteMultipliers}},
    .gguf = {.name = "granite",
             .ropeInterleaved = true,
             .keys = {.numbers = ggufMultipliers},
             .writtenAs = &granite}};

} // namespace ingot::checkpoint::families
