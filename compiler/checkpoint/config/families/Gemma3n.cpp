// SPDX-License-Identifier: Apache-2.0
// Gemma 3n (text): x is several streams, of which layers read one (AltUp); a product of low rank
// stands beside attention (LAuReL); gates of first layers are cut off below most of them; last
// layers read what earlier ones keep, and tokens have inputs for every layer.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GemmaGguf.h"
#include "compiler/checkpoint/config/families/GemmaLayers.h"

#include <algorithm>
#include <limits>
#include <numbers>

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

static constexpr uint64_t mostStreams = 16;

static void readAltUp(JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view active = "altup_active_idx";
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

//===- GGUF ---------------------------------------------------------------------------------===//

/// Files that older converters wrote have no key for the cap, which llama.cpp takes as it is here.
static constexpr NumberKey ggufCap[] = {
    {"final_logit_softcapping", &ModelConfig::logitsSoftcap, 30, 0, kMostFactor}};

/// Files have what so large a share of normal numbers is below, and -infinity for 0.
static void readScales(GgufFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "activation_sparsity_scale";
  constexpr double most = 4.754; // of mostSparsity above
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (!fields.has(key))
    fields.number(key, none, most); // fails
  for (double scale : fields.ofLayers(fields.key(key), config.layerCount(), none, most)) {
    if (scale != none && scale < -most)
      fields.fail(key, message(scale, " of deviations is no share of a gate's numbers"),
                  "convert the model again", "INGOT-E1006");
    config.gateSparsities.push_back(std::erfc(-scale / std::numbers::sqrt2) / 2);
  }
}

static void readGgufLayers(GgufFields &fields, ConfigDraft &config) {
  const uint64_t layers = config.layerCount();
  readSliding(fields, config);
  config.sharingLayers = fields.unsignedInteger(kSharingKey, 0, layers - 1);
  checkSharing(fields, config);
  config.innerSizes = fields.countsOfLayers("feed_forward_length", layers, 1, ModelConfig::widest);
  config.mlp.innerSize = config.innerSizes.front();
  readScales(fields, config);
}

static void readGguf(GgufFields &fields, ConfigDraft &config) {
  readInputs(fields, config, /*least=*/1);
  config.slidingRope.emplace().theta = fields.numberOr("rope.freq_base_swa", 10000, 1, 1e15);
  AltUp &altUp = config.altUp;
  altUp.streams = fields.unsignedInteger("altup.num_inputs", 2, mostStreams);
  altUp.active = fields.unsignedInteger("altup.active_idx", 0, altUp.streams - 1);
  altUp.scales = true; // no key says it; llama.cpp has them always
  if (config.laurelRank == 0)
    config.laurelRank = 64; // The tensor is missing, which the import says.
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
             .readLayers = [](JsonFields &fields,
                              ConfigDraft &config) { checkSharing(fields, config); }},
    .gguf = {.name = "gemma3n",
             .keys = {.numbers = ggufCap},
             .readLayers = readGgufLayers,
             .readOwn = readGguf}};

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
