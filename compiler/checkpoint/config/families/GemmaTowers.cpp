// SPDX-License-Identifier: Apache-2.0
// What Gemma 4 sees with: a tower whose norms are those of its text part, and whose rows are means;
// or, unified, no layers at all.
#include "compiler/checkpoint/config/families/VisionFamily.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ingot::checkpoint::families {

/// The embedder of the unified model has a module of its own in releases, and not in transformers.
static constexpr NameBeginning beginnings[] = {{"model.vision_tower.", "vision."},
                                               {"vision_tower.", "vision."},
                                               {"model.embed_vision.", "vision.projector."},
                                               {"embed_vision.", "vision.projector."}};
static constexpr NameBeginning embedderBeginnings[] = {
    {"model.embed_vision.multimodal_embedder.", "vision.projector."},
    {"embed_vision.multimodal_embedder.", "vision.projector."},
    {"model.embed_vision.embedding_projection", "vision.projector.embedding_projection"},
    {"embed_vision.embedding_projection", "vision.projector.embedding_projection"},
    {"model.embed_vision.", "vision."},
    {"embed_vision.", "vision."},
    {"model.vision_embedder.", "vision."},
    {"vision_embedder.", "vision."}};

using Tower = VisionTower;
static constexpr uint64_t largestPatch = 256; // of the runtime
static constexpr TowerKey towerKeys[] = {
    {"hidden_size", &Tower::width, 768, VisionPlan::widest},
    {"intermediate_size", &Tower::innerSize, 3072, VisionPlan::widest},
    {"num_hidden_layers", &Tower::layers, 16, VisionPlan::mostLayers},
    {"num_attention_heads", &Tower::heads, 12, ModelConfig::mostHeads},
    {"head_dim", &Tower::headDim, 64, ModelConfig::widestHead},
    {"patch_size", &Tower::patchSize, 16, largestPatch},
    {"position_embedding_size", &Tower::positionSide, 10240, VisionPlan::largestSide}};
static constexpr TowerKey embedderKeys[] = {
    {"mm_embed_dim", &Tower::width, 3840, VisionPlan::widest},
    {"patch_size", &Tower::patchSize, 16, largestPatch},
    {"mm_posemb_size", &Tower::positionSide, 1120, VisionPlan::largestSide}};

/// Of releases, and not of the class; max_soft_tokens of the processor counts.
static constexpr std::string_view meaningless[] = {"attention_bias", "default_output_length",
                                                   "global_head_dim", "max_position_embeddings",
                                                   "num_soft_tokens"};

/// What both have. `absent`: what the text part takes an absent use_bidirectional_attention for.
static void readRows(const VisionFields &fields, std::string_view absent, VisionPlan &plan) {
  plan.merge = fields.vision.unsignedIntegerOr("pooling_kernel_size", 3, 1, 16);
  plan.projectorEpsilon = fields.vision.numberOr("rms_norm_eps", 1e-6, 1e-30, 1);
  plan.images.tokenId =
      fields.root.unsignedIntegerOr("image_token_id", 258880, 0, fields.text.vocabSize - 1);
  JsonFields text(fields.text.raw);
  constexpr std::string_view direction = "use_bidirectional_attention";
  const bool slides = std::ranges::any_of(fields.text.layers, [](const LayerPlan &layer) {
    return layer.attention() && layer.attention()->slidingWindow != 0;
  });
  const std::string sees = !text.has(direction) && !text.isNull(direction) ? std::string(absent)
                           : text.isOff(direction) ? ""
                                                   : text.stringOr(direction, "");
  plan.images.onlyInWindows = true;
  plan.images.seesAhead = slides && sees == "vision";
  if (fields.text.layerInputs.columns != 0)
    plan.images.stepToken = text.unsignedIntegerOr("pad_token_id", 0, 0, fields.text.vocabSize - 1);
  if (text.error())
    fields.root.fail("text_config", text.error()->code, text.error()->what, text.error()->fix);
}

static void readTower(const VisionFields &fields, VisionPlan &plan) {
  readRows(fields, "", plan);
  Tower &tower = plan.tower;
  tower.epsilon = plan.projectorEpsilon;
  plan.meanScale = std::sqrt(static_cast<double>(tower.width));
  readTowerRope(fields, 100, tower);
  constexpr std::string_view kvHeads = "num_key_value_heads";
  if (fields.vision.unsignedIntegerOr(kvHeads, 12, 1, ModelConfig::mostHeads) != tower.heads)
    fields.vision.fail(
        kvHeads, "INGOT-E1057",
        message("only as many as num_attention_heads, ", tower.heads, ", are supported"),
        "build with --no-vision");
  tower.clips = fields.vision.booleanOr("use_clipped_linears", false);
  if (fields.vision.booleanOr("standardize", false)) {
    plan.names.shift = "std_bias";
    plan.names.scale = "std_scale";
  }
}

static void readEmbedder(const VisionFields &fields, VisionPlan &plan) {
  readRows(fields, "vision", plan);
  auto expect = [&](std::string_view key, uint64_t expected, uint64_t absent) {
    if (fields.vision.unsignedIntegerOr(key, absent, 1, VisionPlan::widest) != expected)
      fields.vision.fail(key, "INGOT-E1051", message("by other keys it is ", expected),
                         "correct them");
  };
  expect("model_patch_size", plan.patchSide(), plan.patchSide());
  expect("output_proj_dims", plan.tower.width, 3840);
  if (plan.patchSide() > largestPatch)
    fields.vision.fail("pooling_kernel_size", "INGOT-E1051",
                       message("patches of ", plan.patchSide(), " pixels a side"),
                       message("choose ", largestPatch, " at most"));
}

static void readBudget(const Json &, JsonFields &fields, VisionPlan &plan) {
  constexpr std::string_view most = "max_soft_tokens", pooled = "pooling_kernel_size";
  constexpr std::array<uint64_t, 5> known = {70, 140, 280, 560, 1120};
  plan.images.maxTokens = fields.unsignedIntegerOr(most, 280, 1, known.back());
  if (std::ranges::find(known, plan.images.maxTokens) == known.end())
    fields.fail(most, "INGOT-E1051", message(plan.images.maxTokens, " is none that the model has"),
                "choose 70, 140, 280, 560 or 1120");
  if (fields.unsignedIntegerOr(pooled, plan.merge, 1, VisionPlan::largestSide) != plan.merge)
    fields.fail(pooled, "INGOT-E1051", "config.json says otherwise", "correct one of them");
  // Pictures may be as narrow as one row.
  const uint64_t places = plan.images.maxTokens * (plan.joinsPixels ? 1 : plan.merge);
  if (places > plan.tower.positionSide)
    fields.fail(most, "INGOT-E1051",
                message("pictures may have ", places, " places in a row, and the tower knows ",
                        plan.tower.positionSide),
                "choose fewer");
}

static constexpr ImageSettings images = {.rule = ResizeRule::Budget,
                                         .channelsLast = true,
                                         .text = {.placeholder = "<|image|>",
                                                  .token = "<|image|>",
                                                  .before = "<|image>",
                                                  .after = "<image|>"}};

constinit const VisionFamily gemma4Tower = {
    .beginnings = beginnings,
    .form = {.tower = {.scaling = 1,
                       .norm = NormKind::Rms,
                       .patchBias = false,
                       .biases = false,
                       .positions = PatchPositions::Axes,
                       .rotates = true,
                       .columnsFirst = true},
             .projector = RowProjector::PlainMean,
             .names = {.patch = "patch_embedder.input_proj",
                       .positions = "patch_embedder.position_embedding_table",
                       .attentionNorm = "input_layernorm",
                       .feedForwardNorm = "pre_feedforward_layernorm",
                       .output = "self_attn.o_proj",
                       .gate = "mlp.gate_proj",
                       .up = "mlp.up_proj",
                       .down = "mlp.down_proj",
                       .matrix = ".linear",
                       .queryNorm = "self_attn.q_norm",
                       .keyNorm = "self_attn.k_norm",
                       .attentionResultNorm = "post_attention_layernorm",
                       .feedForwardResultNorm = "post_feedforward_layernorm",
                       .projector = "projector.embedding_projection"},
             .images = images}, // 0.5 twice: the model takes 2x - 1
    .keys = towerKeys,
    .activation = "gelu_pytorch_tanh",
    .activationKey = "hidden_activation",
    .meaningless = meaningless,
    .normalizes = false,
    .readOwn = readTower,
    .readSizes = readBudget};

static constexpr ImageSettings plainImages = [] {
  ImageSettings settings = images;
  settings.mean = {0, 0, 0};
  settings.deviation = {1, 1, 1};
  return settings;
}();

constinit const VisionFamily gemma4Embedder = {
    .beginnings = embedderBeginnings,
    .form = {.tower = {.epsilon = 1e-5, // of torch
                       .positions = PatchPositions::Axes,
                       .placesFirst = true},
             .projector = RowProjector::PlainMean,
             .joinsPixels = true,
             .names = {.patch = "patch_dense",
                       .positions = "pos_embedding",
                       .lastNorm = "pos_norm",
                       .patchInputNorm = "patch_ln1",
                       .patchResultNorm = "patch_ln2",
                       .projector = "projector.embedding_projection"},
             .images = plainImages},
    .keys = embedderKeys,
    .activation = "",
    .meaningless = meaningless,
    .normalizes = false,
    .readOwn = readEmbedder,
    .readSizes = readBudget};

} // namespace ingot::checkpoint::families
