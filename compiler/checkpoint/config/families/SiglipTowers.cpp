// SPDX-License-Identifier: Apache-2.0
// SigLIP towers: of Gemma 3, whose rows are means, and of Idefics 3 and SmolVLM, whose rows are
// squares of patches.
#include "compiler/checkpoint/config/families/VisionFamily.h"

namespace ingot::checkpoint::families {

/// transformers 5 leaves "vision_model." out.
static constexpr NameBeginning gemmaBeginnings[] = {
    {"model.vision_tower.vision_model.", "vision."},
    {"vision_tower.vision_model.", "vision."},
    {"model.vision_tower.", "vision."},
    {"vision_tower.", "vision."},
    {"model.multi_modal_projector.", "vision.projector."},
    {"multi_modal_projector.", "vision.projector."}};
static constexpr NameBeginning connectorBeginnings[] = {{"model.vision_model.", "vision."},
                                                        {"model.connector.", "vision.connector."}};

using Tower = VisionTower;
static constexpr TowerKey siglipKeys[] = {
    {"hidden_size", &Tower::width, 768, VisionPlan::widest},
    {"intermediate_size", &Tower::innerSize, 3072, VisionPlan::widest},
    {"num_hidden_layers", &Tower::layers, 12, VisionPlan::mostLayers},
    {"num_attention_heads", &Tower::heads, 12, ModelConfig::mostHeads},
    {"num_channels", &Tower::channels, 3, 3},
    {"patch_size", &Tower::patchSize, 16, VisionPlan::largestSide}};
static constexpr TowerKey idefics3Keys[] = {
    {"hidden_size", &Tower::width, 1152, VisionPlan::widest},
    {"intermediate_size", &Tower::innerSize, 3072, VisionPlan::widest},
    {"num_hidden_layers", &Tower::layers, 12, VisionPlan::mostLayers},
    {"num_attention_heads", &Tower::heads, 16, ModelConfig::mostHeads},
    {"num_channels", &Tower::channels, 3, 3},
    {"patch_size", &Tower::patchSize, 32, VisionPlan::largestSide}};

/// The square that the tower is made for: patches of a side.
static void readSide(JsonFields &fields, VisionPlan &plan) {
  Tower &tower = plan.tower;
  const uint64_t pixels =
      fields.unsignedIntegerOr("image_size", 224, tower.patchSize, VisionPlan::largestSide);
  tower.epsilon = fields.numberOr("layer_norm_eps", 1e-6, 1e-30, 1);
  tower.positionSide = pixels / tower.patchSize;
  if (pixels % tower.patchSize != 0)
    fields.fail("image_size", "INGOT-E1051",
                message("patches of ", tower.patchSize, " pixels do not fill ", pixels),
                "correct image_size or patch_size");
  plan.images.width = plan.images.height = plan.images.tile = pixels;
}

/// A side of the square root of `squared`, where that is whole and divides the patches of a side.
static void readMerge(JsonFields &fields, std::string_view key, uint64_t merge, VisionPlan &plan) {
  plan.merge = merge;
  if (merge == 0 || plan.tower.positionSide % merge != 0)
    fields.fail(
        key, "INGOT-E1051",
        message("rows do not fill a picture of ", plan.tower.positionSide, " patches a side"),
        "correct it");
}

static void readGemma3(const VisionFields &fields, VisionPlan &plan) {
  readSide(fields.vision, plan);
  constexpr std::string_view key = "mm_tokens_per_image";
  const uint64_t rows = fields.root.unsignedIntegerOr(key, 256, 1, 1u << 20);
  uint64_t side = 1;
  while (side * side < rows)
    ++side;
  const bool fits = side * side == rows && plan.tower.positionSide % side == 0;
  readMerge(fields.root, key, fits ? plan.tower.positionSide / side : 0, plan);
  plan.projectorEpsilon = plan.tower.epsilon;
  plan.images.tokenId =
      fields.root.has("image_token_id")
          ? fields.root.unsignedInteger("image_token_id", 0, fields.text.vocabSize - 1)
          : fields.root.unsignedIntegerOr("image_token_index", 262144, 0,
                                          fields.text.vocabSize - 1);
}

/// The square of `key`, whose sides are given.
static void readSquare(const Json &root, JsonFields &fields, VisionPlan &plan) {
  const uint64_t wanted = plan.images.width;
  fields.isOff("size");
  const auto size = root.find("size");
  if (!size || !size->isObject())
    return;
  JsonFields sides(*size);
  for (std::string_view key : {"height", "width"})
    if (sides.unsignedIntegerOr(key, wanted, 1, VisionPlan::largestSide) != wanted)
      sides.fail(key, "INGOT-E1051", message("the tower is made for ", wanted),
                 "correct one of them");
  if (sides.error())
    fields.fail("size", sides.error()->code, sides.error()->what, sides.error()->fix);
}

static void readIdefics3(const VisionFields &fields, VisionPlan &plan) {
  readSide(fields.vision, plan);
  readMerge(fields.root, "scale_factor",
            fields.root.unsignedIntegerOr("scale_factor", 2, 1, VisionPlan::largestSide), plan);
  plan.images.tokenId =
      fields.root.unsignedIntegerOr("image_token_id", 128257, 0, fields.text.vocabSize - 1);
}

/// One number of an object, or what it is without.
static uint64_t edgeOf(const Json &root, JsonFields &fields, std::string_view key,
                       uint64_t absent) {
  fields.isOff(key);
  const auto size = root.find(key);
  if (!size || !size->isObject())
    return absent;
  JsonFields edges(*size);
  const uint64_t edge = edges.unsignedIntegerOr("longest_edge", absent, 1, VisionPlan::largestSide);
  if (edges.error())
    fields.fail(key, edges.error()->code, edges.error()->what, edges.error()->fix);
  return edge;
}

static void readTiles(const Json &root, JsonFields &fields, VisionPlan &plan) {
  const uint64_t tile = plan.images.tile;
  if (edgeOf(root, fields, "max_image_size", tile) != tile)
    fields.fail("max_image_size", "INGOT-E1051", message("the tower is made for ", tile),
                "correct one of them");
  plan.images.longestEdge = edgeOf(root, fields, "size", 4 * tile);
  for (std::string_view key : {"do_image_splitting", "do_pad"})
    if (!fields.booleanOr(key, true))
      fields.fail(key, "INGOT-E1057", message(key, " is not supported as false"),
                  "build with --no-vision");
}

constinit const VisionFamily gemma3Tower = {
    .beginnings = gemmaBeginnings,
    .form = {.tower = {.positions = PatchPositions::Learned},
             .projector = RowProjector::MeanPool,
             .names = {.lastNorm = "post_layernorm",
                       .projectorNorm = "projector.mm_soft_emb_norm",
                       .projector = "projector.mm_input_projection_weight"},
             .images = {.rule = ResizeRule::Stretch,
                        .filter = ResizeFilter::Bilinear,
                        .text = {.placeholder = "<start_of_image>",
                                 .token = "<image_soft_token>",
                                 .before = "\n\n<start_of_image>",
                                 .after = "<end_of_image>\n\n"},
                        .seesAhead = true}},
    .keys = siglipKeys,
    .activation = "gelu_pytorch_tanh",
    .readOwn = readGemma3,
    .readSizes = readSquare};

static constexpr std::string_view smolVlmKeys[] = {"max_image_size", "size", "tie_word_embeddings",
                                                   "use_base_siglip"};

constinit const VisionFamily idefics3Tower = {
    .beginnings = connectorBeginnings,
    .form = {.tower = {.positions = PatchPositions::Learned},
             .projector = RowProjector::Linear,
             .names = {.lastNorm = "post_layernorm",
                       .projector = "connector.modality_projection.proj"},
             .images = {.rule = ResizeRule::Tiles,
                        .filter = ResizeFilter::Lanczos,
                        .text = {.placeholder = "<image>",
                                 .token = "<image>",
                                 .before = "<fake_token_around_image><global-img>",
                                 .after = "<fake_token_around_image>",
                                 .beforeTile = "<fake_token_around_image><row_{row}_col_{column}>",
                                 .afterTileRow = "\n",
                                 .afterTiles = "\n"}}},
    .keys = idefics3Keys,
    .activation = "gelu_pytorch_tanh",
    .meaningless = smolVlmKeys,
    .readOwn = readIdefics3,
    .readSizes = readTiles};

} // namespace ingot::checkpoint::families
