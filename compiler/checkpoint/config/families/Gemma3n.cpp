// SPDX-License-Identifier: Apache-2.0
// Gemma 3n (text): x is several streams, of which layers read one (AltUp); a product of low rank
// stands beside attention (LAuReL); gates of first layers are cut off below most of them; last
// layers read what earlier ones keep, and tokens have inputs for every layer.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GemmaLayers.h"

#include <algorithm>

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr CountKey counts[] = {
    {"sliding_window", &Attention::slidingWindow, 512, 1, Rope::mostPositions},
    sharingLayers(15),
    {"laurel_rank", &ModelConfig::laurelRank, 64, 1, ModelConfig::widest}};
static constexpr NumberKey cap[] = {logitsCap(30)};
/// Two of training, and one that transformers reads for other Gemmas alone.
static constexpr std::string_view meaningless[] = {"altup_coef_clip", "altup_lr_multiplier",
                                                   "query_pre_attn_scalar"};

static void readAltUp(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view active = "altup_active_idx";
  constexpr uint64_t mostStreams = 16;
  AltUp &altUp = config.altUp;
  altUp.streams = fields.unsignedIntegerOr("altup_num_inputs", 4, 2, mostStreams);
  altUp.active = fields.unsignedIntegerOr(active, 0, 0, altUp.streams - 1);
  altUp.scales = fields.booleanOr("altup_correct_scale", true);
}

static void readSparsity(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "activation_sparsity_pattern";
  constexpr double mostSparsity = 1 - 1e-6;
  constexpr uint64_t sparseLayers = 10;
  const uint64_t layers = config.layerCount();
  if (!fields.has(key)) {
    config.gateSparsities.resize(layers);
    if (layers > sparseLayers)
      std::fill_n(config.gateSparsities.begin(), sparseLayers, 0.95);
    return;
  }
  auto shares = fields.numbers(key, 0, mostSparsity);
  if (!shares)
    return;
  if (!config.raw.find(key)->isArray() || shares->size() != layers)
    return fields.fail(key, "INGOT-E1051",
                       message("this is no list of a number for each of ", layers, " layers"),
                       "correct it, or leave it out");
  config.gateSparsities = *std::move(shares);
}

static void readText(JsonFields &fields, ConfigDraft &config) {
  config.embeddingMultiplier = rootInOwnType(config, config.hiddenSize);
  config.slidingRope.emplace().theta = fields.numberOr("rope_local_base_freq", 10000, 1, 1e15);
  readLayerInputs(fields, config, {.absent = 256, .least = 1});
  readAltUp(fields, config);
  readSparsity(fields, config);
}

constinit const Family gemma3n = {
    .architecture = "Gemma3nForCausalLM",
    .form = {.names = {.feedForwardNorm = "pre_feedforward_layernorm"}},
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads, .valueNorm = true, .scaling = 1},
               .mlp = {.activation = Activation::GeluTanh},
               .norms = NormPlacement::Sandwich,
               .fullEvery = 5},
    .json = {.positions = 32768,
             .kvHeads = 2,
             .bos = 2,
             .eos = 1,
             .headDim = 256,
             .heads = 8,
             .vocabulary = 262400,
             .rope = {.theta = 1e6},
             .tied = true,
             .activationKey = "hidden_activation",
             .activation = "gelu_pytorch_tanh",
             .innerListed = true,
             .keys = {.flags = flags, .counts = counts, .numbers = cap},
             .meaningless = meaningless,
             .readOwn = readText,
             .readLayers = [](JsonFields &fields, ConfigDraft &config) {
               checkSharing(fields, config);
             }}};

//===- With images and sound ----------------------------------------------------------------===//

static constexpr std::string_view aroundKeys[] = {"audio_config",
                                                  "audio_soft_tokens_per_image",
                                                  "audio_token_id",
                                                  "boa_token_id",
                                                  "boi_token_id",
                                                  "eoa_token_id",
                                                  "eoi_token_id",
                                                  "image_token_id",
                                                  "text_config",
                                                  "vision_config",
                                                  "vision_soft_tokens_per_image"};
/// The ends have embeddings of the other parts, too.
static constexpr std::string_view placeholders[] = {"image_token_id", "audio_token_id",
                                                    "eoi_token_id", "eoa_token_id"};
static constexpr TextPart texts[] = {{"gemma3n_text", &gemma3n}};

constinit const Family gemma3nVision = {
    .architecture = "Gemma3nForConditionalGeneration",
    .json = {.meaningless = aroundKeys},
    .wrapper = {
        .texts = texts, .skipped = partsBesideText, .tied = true, .placeholders = placeholders}};

} // namespace ingot::checkpoint::families
