// SPDX-License-Identifier: Apache-2.0
// Granite 4: state spaces in most layers, attention without positions in the others, or in all of
// them; one MLP for all tokens, with experts beside it or without; Granite's multipliers.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GraniteKeys.h"
#include "compiler/checkpoint/config/families/HybridGguf.h"
#include "compiler/checkpoint/config/families/StateSpaceKeys.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};

static void readOwn(JsonFields &fields, ConfigDraft &config) {
  readStateSpace(fields, config, std::get<StateSpace>(*config.other));
  const uint64_t shared =
      fields.unsignedIntegerOr("shared_intermediate_size", 1024, 1, ModelConfig::widest);
  config.mlp.innerSize = shared;
  if (config.experts)
    config.experts->sharedSize = shared;
  const std::string positions = fields.stringOr("position_embedding_type", "nope");
  if (positions != "nope" && positions != "rope")
    fields.fail("position_embedding_type", "INGOT-E1057",
                message(inQuotes(positions), " is not supported"), "use a checkpoint with rope");
  if (positions != "rope")
    config.rotatingLayers.assign(config.layerCount(), false);
  if (!fields.has("layer_types"))
    config.otherLayers.assign(config.layerCount(), true);
}

/// Converters take gates and ups apart.
static void readGgufLayers(GgufFields &fields, ConfigDraft &config) {
  config.mlp.innerSize = fields.unsignedInteger("feed_forward_length", 1, ModelConfig::widest);
  config.mlp.fusedGateUp = false;
  for (uint64_t heads : readHybridHeads(fields, config))
    config.otherLayers.push_back(heads == 0);
  if (fields.unsignedIntegerOr("expert_count", 0, 0, Experts::most) == 0)
    config.experts.reset();
}

static void readGgufOwn(GgufFields &fields, ConfigDraft &config) {
  readStateSpace(fields, config, std::get<StateSpace>(*config.other));
  if (config.experts)
    readGraniteExperts(fields, config);
  else
    fields.has("expert_shared_feed_forward_length"); // the MLP's
}

constinit const Family graniteHybrid = {
    .architecture = "GraniteMoeHybridForCausalLM",
    .form = kGraniteForm,
    .layers = {.other = StateSpace{},
               .otherType = "linear_attention",
               .hasOldTypes = true,
               .mlp = {.fusedGateUp = true},
               .experts = graniteExperts()},
    .json = {.bos = 1,
             .eos = 2,
             .expertsPerToken = 2,
             .expertCount = "num_local_experts",
             .expertsMayLack = true,
             .keys = {.flags = flags, .numbers = kGraniteMultipliers},
             .readOwn = readOwn},
    .gguf = {.name = "granitehybrid",
             .ropeInterleaved = true,
             .ropeIsSwitched = true,
             .keys = {.numbers = kGgufGraniteMultipliers},
             .readLayers = readGgufLayers,
             .readOwn = readGgufOwn}};

} // namespace ingot::checkpoint::families
