// SPDX-License-Identifier: Apache-2.0
// VisionFamily: what is known of the vision part of a model family beside its files.
#pragma once

#include "compiler/checkpoint/config/VisionPlan.h"
#include "compiler/checkpoint/files/JsonFields.h"

#include <span>

namespace ingot::checkpoint {

/// A key of vision_config that counts something of the tower.
struct TowerKey {
  std::string_view key;
  uint64_t VisionTower::*field;
  uint64_t absent, most;
};

/// What a function of a family reads from.
struct VisionFields {
  const Json &config;        ///< vision_config
  JsonFields &vision, &root; ///< its members, and what stands around it
  const ModelConfig &text;
};

struct VisionFamily {
  /// How tensors of the part begin; here they begin with "vision.". The first that fits counts.
  std::span<const NameBeginning> beginnings;
  VisionPlan form; ///< what no file says, and defaults of preprocessor_config.json
  std::span<const TowerKey> keys;
  std::string_view activation; ///< the only one
  std::string_view activationKey = "hidden_act";
  std::span<const std::string_view> meaningless = {}; ///< keys of vision_config that say nothing
  /// Whether preprocessor_config.json has mean and deviation; else `form` has them.
  bool normalizes = true;
  void (*readOwn)(const VisionFields &fields, VisionPlan &plan) = nullptr;
  /// Reads sizes of preprocessor_config.json.
  void (*readSizes)(const Json &root, JsonFields &fields, VisionPlan &plan) = nullptr;
};

/// `rope_theta` of a tower whose heads turn by rows and columns.
void readTowerRope(const VisionFields &fields, double absent, VisionTower &tower);

namespace families {
extern const VisionFamily gemma3Tower, gemma4Tower, gemma4Embedder, idefics3Tower, qwen25Tower,
    qwen3Tower, qwen35Tower;
} // namespace families

} // namespace ingot::checkpoint
