// SPDX-License-Identifier: Apache-2.0
// What the towers of all families have in common.
#include "compiler/checkpoint/config/VisionReader.h"

#include "compiler/checkpoint/config/families/VisionFamily.h"
#include "compiler/checkpoint/files/Entry.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace fs = std::filesystem;

uint64_t VisionPlan::mostRows() const {
  const uint64_t side = tower.patchSize * merge;
  switch (images.rule) {
  case ResizeRule::Smart:
    return images.maxPixels / (side * side);
  case ResizeRule::Stretch:
    return (images.width / side) * (images.height / side);
  case ResizeRule::Budget:
    return images.maxTokens;
  case ResizeRule::Tiles:
    return (images.tile / side) * (images.tile / side);
  }
  return 0;
}

void readTowerRope(const VisionFields &fields, double absent, VisionTower &tower) {
  tower.theta = absent;
  fields.vision.isOff("rope_parameters");
  if (const auto rope = fields.config.find("rope_parameters"); rope && rope->isObject()) {
    JsonFields members(*rope);
    tower.theta = members.numberOr("rope_theta", absent, 1, 1e12);
    for (std::string_view key : {"rope_type", "type"})
      if (const std::string type = members.stringOr(key, "axial");
          type != "axial" && type != "default")
        members.fail(key, "INGOT-E1052", message("rope type ", inQuotes(type), " is not supported"),
                     "axial is");
    if (members.error())
      fields.vision.fail("rope_parameters", members.error()->code, members.error()->what,
                         members.error()->fix);
  }
}

std::vector<int64_t> VisionPlan::axesOf(uint64_t pairs) const {
  std::vector<int64_t> axes(sections.empty() ? 0 : pairs);
  uint64_t block = 0, end = axes.empty() ? 0 : sections[0];
  for (uint64_t i = 0; i < axes.size(); ++i) {
    if (sectionsInTurn) {
      const uint64_t axis = i % 3;
      axes[i] = axis != 0 && i < 3 * sections[axis] ? static_cast<int64_t>(axis) : 0;
      continue;
    }
    while (i >= end && block + 1 < sections.size())
      end += sections[++block];
    axes[i] = static_cast<int64_t>(block);
  }
  return axes;
}

namespace {

/// Keys of a vision_config about training, heads for other tasks and programs, and what repeats.
constexpr std::string_view harmless[] = {"_attn_implementation_autoset",
                                         "_name_or_path",
                                         "architectures",
                                         "attention_dropout",
                                         "chunk_size_feed_forward",
                                         "dtype",
                                         "id2label",
                                         "initializer_factor",
                                         "initializer_range",
                                         "is_encoder_decoder",
                                         "label2id",
                                         "model_type",
                                         "output_attentions",
                                         "output_hidden_states",
                                         "problem_type",
                                         "return_dict",
                                         "torch_dtype",
                                         "transformers_version",
                                         "use_cache",
                                         "vision_use_head"};

/// Keys of a preprocessor_config.json that say nothing of the numbers of pictures, or nothing else
/// than others.
constexpr std::string_view harmlessOfImages[] = {"_valid_processor_keys",
                                                 "auto_map",
                                                 "crop_size",
                                                 "data_format",
                                                 "default_to_square",
                                                 "device",
                                                 "disable_grouping",
                                                 "feature_extractor_type",
                                                 "image_processor",
                                                 "image_processor_type",
                                                 "image_seq_len",
                                                 "image_seq_length",
                                                 "input_data_format",
                                                 "model_input_names",
                                                 "num_crops",
                                                 "pad_size",
                                                 "processor_class",
                                                 "return_tensors",
                                                 "video_processor",
                                                 "video_processor_type",
                                                 "video_sampling"};

bool isIn(std::span<const std::string_view> names, std::string_view key) {
  return std::ranges::find(names, key) != names.end();
}

/// INGOT-E1057 for the first key of `root` that no reader asked for, and that is not known to
/// change nothing. What is off changes nothing.
Outcome refuseUnread(const Json &root, const JsonFields &fields,
                     std::span<const std::string_view> known,
                     std::span<const std::string_view> others) {
  for (const std::string &key : root.keys())
    if (!fields.asked().contains(key) && !isIn(known, key) && !isIn(others, key) &&
        !fields.isOff(key))
      return root.find(key)->error("INGOT-E1057",
                                   message(printable(key), " may change what becomes of pictures, "
                                                           "and is not supported"),
                                   "build with --no-vision, or remove the key");
  return {};
}

/// A flag that must be as it is by default.
void expectFlag(JsonFields &fields, std::string_view key, bool expected) {
  if (fields.booleanOr(key, expected) != expected)
    fields.fail(key, "INGOT-E1057",
                message(key, " is not supported as ", expected ? "false" : "true"),
                "build with --no-vision");
}

/// Three numbers, or one for all channels.
void readChannels(JsonFields &fields, std::string_view key, std::array<float, 3> &channels) {
  const auto numbers = fields.numbers(key, -1e3, 1e3);
  if (!numbers)
    return;
  if (numbers->size() != 1 && numbers->size() != channels.size())
    return fields.fail(key, "INGOT-E1051", "this is no number for each of three channels",
                       "correct it");
  for (size_t i = 0; i < channels.size(); ++i)
    channels[i] = static_cast<float>((*numbers)[numbers->size() == 1 ? 0 : i]);
}

/// As Pillow numbers filters.
void readFilter(JsonFields &fields, ResizeFilter &filter) {
  constexpr std::string_view key = "resample";
  if (!fields.has(key))
    return;
  switch (fields.unsignedIntegerOr(key, 0, 0, 16)) {
  case 1:
    filter = ResizeFilter::Lanczos;
    return;
  case 2:
    filter = ResizeFilter::Bilinear;
    return;
  case 3:
    filter = ResizeFilter::Bicubic;
    return;
  default:
    fields.fail(key, "INGOT-E1057", "this filter is not supported",
                "1, 2 and 3 are: Lanczos, bilinear and bicubic");
  }
}

/// What rows, patches and heads must be to each other.
void checkSizes(const VisionTower &tower, JsonFields &fields) {
  auto fail = [&](std::string_view key, std::string what) {
    fields.fail(key, "INGOT-E1051", std::move(what), "correct it");
  };
  const bool isGiven = tower.headDim != 0;
  if (tower.layers != 0 && !isGiven && (tower.heads == 0 || tower.width % tower.heads != 0))
    fail("hidden_size", message(tower.heads, " heads do not divide the width ", tower.width));
  else if (const uint64_t each = tower.columnsOfHead(); tower.rotates && each % 4 != 0)
    fail(isGiven ? "head_dim" : "hidden_size",
         message("a head of ", each, " elements cannot be rotated by rows and columns"));
  if (tower.channels != 3)
    fail("num_channels", message(tower.channels, " channels; pictures have 3"));
}

/// Whether sections are those of the pairs that turn.
void checkSections(const VisionPlan &plan, const ModelConfig &text, JsonFields &root) {
  const auto layer = std::ranges::find_if(text.layers, [](const LayerPlan &layer) {
    return layer.attention() && layer.attention()->rope;
  });
  if (plan.sections.empty() || layer == text.layers.end())
    return;
  const Attention &attention = *layer->attention();
  const uint64_t pairs = text.ropes[*attention.rope].pairs(attention.headDim);
  uint64_t sum = 0;
  for (uint64_t section : plan.sections)
    sum += section;
  if (sum != pairs)
    root.fail("text_config", "INGOT-E1051",
              message("mrope_section is of ", sum, " pairs, and ", pairs, " rotate"),
              "correct mrope_section");
}

Outcome readSettings(const Json &root, const VisionFamily &family, VisionPlan &plan) {
  JsonFields fields(root);
  for (std::string_view key : {"do_convert_rgb", "do_rescale", "do_resize"})
    expectFlag(fields, key, true);
  expectFlag(fields, "do_normalize", family.normalizes);
  expectFlag(fields, "do_pan_and_scan", false);
  expectFlag(fields, "do_center_crop", false);
  std::array<float, 3> ignored;
  readChannels(fields, "image_mean", family.normalizes ? plan.images.mean : ignored);
  readChannels(fields, "image_std", family.normalizes ? plan.images.deviation : ignored);
  for (float deviation : plan.images.deviation)
    if (deviation <= 0)
      fields.fail("image_std", "INGOT-E1051", "a deviation is not positive", "correct it");
  readFilter(fields, plan.images.filter);
  if (std::abs(fields.numberOr("rescale_factor", 1.0 / 255, 0, 1) - 1.0 / 255) > 1e-9)
    fields.fail("rescale_factor", "INGOT-E1057", "only 1/255 is supported",
                "build with --no-vision");
  if (fields.unsignedIntegerOr("patch_size", plan.tower.patchSize, 1, VisionPlan::largestSide) !=
      plan.tower.patchSize)
    fields.fail("patch_size", "INGOT-E1051", "config.json says otherwise", "correct one of them");
  family.readSizes(root, fields, plan);
  const uint64_t side = plan.tower.patchSize * plan.merge;
  if (!fields.error() && (plan.mostRows() == 0 || plan.mostRows() * side * side > (1u << 30)))
    fields.fail("size", "INGOT-E1051", message("pictures of ", plan.mostRows(), " rows"),
                "correct the sizes");
  if (fields.error())
    return *fields.error();
  return refuseUnread(root, fields, harmlessOfImages, {});
}

} // namespace

Expected<VisionPlan> readVisionPlan(const Json &root, const VisionFamily &family,
                                    const ModelConfig &text) {
  auto vision = root.at("vision_config");
  if (!vision)
    return vision.error();
  if (!vision->isObject())
    return vision->wrongType("an object");
  VisionPlan plan = family.form;
  JsonFields fields(*vision), around(root);
  for (const TowerKey &key : family.keys)
    plan.tower.*key.field = fields.unsignedIntegerOr(key.key, key.absent, 1, key.most);
  const std::string activation =
      fields.stringOr(family.activationKey, std::string(family.activation));
  if (activation != family.activation)
    fields.fail(family.activationKey, "INGOT-E1053",
                message("activation ", inQuotes(activation), " is not supported"),
                message("towers of this family are supported with ", family.activation));
  family.readOwn({*vision, fields, around, text}, plan);
  if (!fields.error())
    checkSizes(plan.tower, fields);
  checkSections(plan, text, around);
  for (const JsonFields *read : {&fields, &around})
    if (read->error())
      return *read->error();
  if (auto known = refuseUnread(*vision, fields, harmless, family.meaningless); !known)
    return known.error();
  return plan;
}

Outcome readImageSettings(const fs::path &directory, const VisionFamily &family, VisionPlan &plan,
                          std::vector<fs::path> &inputs) {
  // The second holds the first's contents under a key, since transformers 5.
  const fs::path apart = directory / "preprocessor_config.json",
                 together = directory / "processor_config.json";
  const Json none = Json::of(nlohmann::json::object(), printable(apart.string()));
  Json settings = none;
  for (const fs::path &path : {together, apart}) {
    if (!isThere(path))
      continue;
    auto root = Json::readFile(path, JsonLimits::ofPython());
    if (!root)
      return root.error();
    inputs.push_back(path);
    if (path == apart)
      settings = *root;
    else if (auto inside = root->find("image_processor"); inside && inside->isObject())
      settings = *inside;
  }
  return readSettings(settings, family, plan);
}

} // namespace ingot::checkpoint
