// SPDX-License-Identifier: Apache-2.0
// SmolLM3: every fourth layer does not rotate q and k.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/NopeLayers.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};
static constexpr std::string_view meaningless[] = {"sliding_window"};

static void readRotation(JsonFields &fields, ConfigDraft &config) {
  if (fields.booleanOr("use_sliding_window", false))
    fields.fail("use_sliding_window", "INGOT-E1057",
                "windows are not supported for SmolLM3ForCausalLM", "use a checkpoint without");
  readNopeLayers(fields, config);
}

constinit const Family smolLm3 = {
    .architecture = "SmolLM3ForCausalLM",
    .json = {.positions = 32768,
             .kvHeads = 4,
             .bos = 128000,
             .eos = 128001,
             .rope = {.theta = 2e6},
             .tied = true,
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn = readRotation},
    .gguf = {.name = "smollm3",
             .ropeInterleaved = true,
             .readOwn = [](GgufFields &, ConfigDraft &config) { rotateBut(4, config); },
             .writtenAs = &smolLm3}};

} // namespace ingot::checkpoint::families
