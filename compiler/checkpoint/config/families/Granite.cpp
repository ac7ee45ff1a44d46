// SPDX-License-Identifier: Apache-2.0
// Granite: multipliers of embeddings, residuals and scores; divided logits.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GraniteKeys.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};

constinit const Family granite = {
    .architecture = "GraniteForCausalLM",
    .json = {.bos = 1, .eos = 2, .keys = {.flags = flags, .numbers = kGraniteMultipliers}},
    .gguf = {.name = "granite",
             .ropeInterleaved = true,
             .ropeIsSwitched = true,
             .keys = {.numbers = kGgufGraniteMultipliers},
             // Granite 4's without state spaces say the MLP's width twice.
             .readOwn = [](GgufFields &fields,
                           ConfigDraft &) { fields.has("expert_shared_feed_forward_length"); },
             .writtenAs = &granite}};

} // namespace ingot::checkpoint::families
