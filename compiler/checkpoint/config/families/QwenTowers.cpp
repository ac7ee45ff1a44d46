// SPDX-License-Identifier: Apache-2.0
// Towers of Qwen2.5-VL, with windows, and of Qwen3-VL and Qwen3.5, with learned positions. The
// first two turn text heads by three positions of each token.
#include "compiler/checkpoint/config/families/VisionFamily.h"

namespace ingot::checkpoint::families {

static constexpr NameBeginning beginnings[] = {{"model.visual.", "vision."},
                                               {"visual.", "vision."}};

using Tower = VisionTower;
static constexpr TowerKey qwen25Keys[] = {
    {"hidden_size", &Tower::width, 3584, VisionPlan::widest},
    {"intermediate_size", &Tower::innerSize, 3420, VisionPlan::widest},
    {"depth", &Tower::layers, 32, VisionPlan::mostLayers},
    {"num_heads", &Tower::heads, 16, ModelConfig::mostHeads},
    {"in_channels", &Tower::channels, 3, 3},
    {"patch_size", &Tower::patchSize, 14, VisionPlan::largestSide},
    {"temporal_patch_size", &Tower::slices, 2, 2},
    {"window_size", &Tower::window, 112, VisionPlan::largestSide}};
static constexpr TowerKey qwen3Keys[] = {
    {"hidden_size", &Tower::width, 1152, VisionPlan::widest},
    {"intermediate_size", &Tower::innerSize, 4304, VisionPlan::widest},
    {"depth", &Tower::layers, 27, VisionPlan::mostLayers},
    {"num_heads", &Tower::heads, 16, ModelConfig::mostHeads},
    {"in_channels", &Tower::channels, 3, 3},
    {"patch_size", &Tower::patchSize, 16, VisionPlan::largestSide},
    {"temporal_patch_size", &Tower::slices, 2, 2}};
/// The first two say again what others do, the last is of films.
static constexpr std::string_view meaningless[] = {"in_chans", "spatial_patch_size",
                                                   "tokens_per_second"};

/// A list of layers, or `absent`.
static void readLayers(JsonFields &fields, std::string_view key, std::vector<uint64_t> absent,
                       uint64_t layers, std::vector<uint64_t> &list) {
  const auto given = fields.unsignedIntegers(key, 0, VisionPlan::mostLayers);
  list = given ? *given : std::move(absent);
  for (uint64_t layer : list)
    if (layer >= layers)
      fields.fail(key, "INGOT-E1051", message("there is no layer ", layer), "correct it");
}

/// Of three positions, which pairs of a text head turn by which.
static void readSections(const VisionFields &fields, std::vector<uint64_t> absent, bool interleaved,
                         VisionPlan &plan) {
  plan.sections = std::move(absent);
  plan.sectionsInTurn = interleaved;
  for (std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const auto rope = fields.text.raw.find(key);
    if (!rope || !rope->isObject())
      continue;
    JsonFields members(*rope);
    if (auto sections = members.unsignedIntegers("mrope_section", 0, ModelConfig::widestHead))
      plan.sections = *std::move(sections);
    if (members.booleanOr("mrope_interleaved", interleaved) != interleaved)
      members.fail("mrope_interleaved", "INGOT-E1057", "this order of sections is not supported",
                   "use a checkpoint of the family as it was published");
    if (plan.sections.size() != 3)
      members.fail("mrope_section", "INGOT-E1051", "this is no number for each of three positions",
                   "correct it");
    if (members.error())
      fields.root.fail("text_config", members.error()->code, members.error()->what,
                       members.error()->fix);
  }
}

static void readQwen(const VisionFields &fields, uint64_t imageToken, VisionPlan &plan) {
  plan.merge = fields.vision.unsignedIntegerOr("spatial_merge_size", 2, 1, 64);
  constexpr std::string_view out = "out_hidden_size";
  if (fields.vision.unsignedIntegerOr(out, 3584, 1, VisionPlan::widest) != fields.text.hiddenSize)
    fields.vision.fail(out, "INGOT-E1051",
                       message("the text part is ", fields.text.hiddenSize, " wide"),
                       "correct the two");
  readTowerRope(fields, 10000, plan.tower);
  plan.images.tokenId =
      fields.root.unsignedIntegerOr("image_token_id", imageToken, 0, fields.text.vocabSize - 1);
}

static void readQwen25(const VisionFields &fields, VisionPlan &plan) {
  readQwen(fields, 151655, plan);
  readLayers(fields.vision, "fullatt_block_indexes", {7, 15, 23, 31}, plan.tower.layers,
             plan.tower.fullLayers);
  if (plan.tower.window % (plan.tower.patchSize * plan.merge) != 0)
    fields.vision.fail("window_size", "INGOT-E1051",
                       message("rows of ", plan.tower.patchSize * plan.merge,
                               " pixels do not fill a window of ", plan.tower.window),
                       "correct it");
  readSections(fields, {16, 24, 24}, /*interleaved=*/false, plan);
}

static void readPositions(const VisionFields &fields, VisionPlan &plan) {
  constexpr std::string_view key = "num_position_embeddings";
  const uint64_t rows = fields.vision.unsignedIntegerOr(key, 2304, 1, 1u << 24);
  uint64_t side = 1;
  while (side * side < rows)
    ++side;
  if (side * side != rows)
    fields.vision.fail(key, "INGOT-E1051", message(rows, " positions are no square"), "correct it");
  plan.tower.positionSide = side;
}

static void readQwen3(const VisionFields &fields, VisionPlan &plan) {
  readQwen(fields, 151655, plan);
  readPositions(fields, plan);
  readLayers(fields.vision, "deepstack_visual_indexes", {8, 16, 24}, plan.tower.layers,
             plan.deepstackLayers);
  if (plan.deepstackLayers.size() > fields.text.layerCount())
    fields.vision.fail("deepstack_visual_indexes", "INGOT-E1051",
                       message("the text part has ", fields.text.layerCount(), " layers"),
                       "correct it");
  readSections(fields, {24, 20, 20}, /*interleaved=*/true, plan);
}

static void readQwen35(const VisionFields &fields, VisionPlan &plan) {
  readQwen(fields, 248056, plan);
  readPositions(fields, plan);
  readLayers(fields.vision, "deepstack_visual_indexes", {}, plan.tower.layers,
             plan.deepstackLayers);
  readSections(fields, {11, 11, 10}, /*interleaved=*/true, plan);
}

/// Areas, whatever their keys say.
static void readAreas(const Json &root, JsonFields &fields, VisionPlan &plan) {
  ImageSettings &images = plan.images;
  auto read = [&](JsonFields &from, std::string_view least, std::string_view most) {
    images.minPixels = from.unsignedIntegerOr(least, images.minPixels, 1, 1u << 30);
    images.maxPixels = from.unsignedIntegerOr(most, images.maxPixels, 1, 1u << 30);
  };
  fields.isOff("size");
  if (const auto size = root.find("size"); size && size->isObject()) {
    JsonFields areas(*size);
    read(areas, "shortest_edge", "longest_edge");
    if (areas.error())
      fields.fail("size", areas.error()->code, areas.error()->what, areas.error()->fix);
  }
  read(fields, "min_pixels", "max_pixels");
  auto expect = [&](std::string_view key, uint64_t expected) {
    if (fields.unsignedIntegerOr(key, expected, 1, 64) != expected)
      fields.fail(key, "INGOT-E1051", "config.json says otherwise", "correct one of them");
  };
  expect("merge_size", plan.merge);
  expect("temporal_patch_size", plan.tower.slices);
  if (images.minPixels > images.maxPixels)
    fields.fail("min_pixels", "INGOT-E1051", "the least is above the most", "correct them");
}

static constexpr ImageText qwenText = {.placeholder = "<|image_pad|>", .token = "<|image_pad|>"};
static constexpr std::array<float, 3> clipMean = {0.48145466f, 0.4578275f, 0.40821073f},
                                      clipDeviation = {0.26862954f, 0.26130258f, 0.27577711f};

constinit const VisionFamily qwen25Tower = {.beginnings = beginnings,
                                            .form = {.tower = {.norm = NormKind::Rms,
                                                               .activation = Activation::Silu,
                                                               .patchBias = false,
                                                               .rotates = true},
                                                     .projector = RowProjector::Merger,
                                                     .names = {.patch = "patch_embed.proj",
                                                               .layers = "blocks",
                                                               .attentionNorm = "norm1",
                                                               .feedForwardNorm = "norm2",
                                                               .queryKeyValue = "attn.qkv",
                                                               .output = "attn.proj",
                                                               .gate = "mlp.gate_proj",
                                                               .up = "mlp.up_proj",
                                                               .down = "mlp.down_proj",
                                                               .projectorNorm = "merger.ln_q",
                                                               .projectorInner = "merger.mlp.0",
                                                               .projector = "merger.mlp.2"},
                                                     .images = {.minPixels = 3136,
                                                                .maxPixels = 12845056,
                                                                .mean = clipMean,
                                                                .deviation = clipDeviation,
                                                                .text = qwenText}},
                                            .keys = qwen25Keys,
                                            .activation = "silu",
                                            .meaningless = meaningless,
                                            .readOwn = readQwen25,
                                            .readSizes = readAreas};

static constexpr VisionPlan qwen3Form = {
    .tower = {.positions = PatchPositions::Interpolated, .rotates = true},
    .projector = RowProjector::Merger,
    .names = {.patch = "patch_embed.proj",
              .positions = "pos_embed",
              .layers = "blocks",
              .attentionNorm = "norm1",
              .feedForwardNorm = "norm2",
              .queryKeyValue = "attn.qkv",
              .output = "attn.proj",
              .up = "mlp.linear_fc1",
              .down = "mlp.linear_fc2",
              .projectorNorm = "merger.norm",
              .projectorInner = "merger.linear_fc1",
              .projector = "merger.linear_fc2",
              .deepstack = "deepstack_merger_list",
              .deepstackNorm = "norm",
              .deepstackInner = "linear_fc1",
              .deepstackOuter = "linear_fc2"},
    .images = {.minPixels = 65536, .maxPixels = 16777216, .text = qwenText}};

constinit const VisionFamily qwen3Tower = {.beginnings = beginnings,
                                           .form = qwen3Form,
                                           .keys = qwen3Keys,
                                           .activation = "gelu_pytorch_tanh",
                                           .meaningless = meaningless,
                                           .readOwn = readQwen3,
                                           .readSizes = readAreas};

constinit const VisionFamily qwen35Tower = {.beginnings = beginnings,
                                            .form = qwen3Form,
                                            .keys = qwen3Keys,
                                            .activation = "gelu_pytorch_tanh",
                                            .meaningless = meaningless,
                                            .readOwn = readQwen35,
                                            .readSizes = readAreas};

} // namespace ingot::checkpoint::families
