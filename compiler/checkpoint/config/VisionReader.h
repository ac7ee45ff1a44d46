// SPDX-License-Identifier: Apache-2.0
// Reads what a checkpoint says of its vision part.
#pragma once

#include "compiler/checkpoint/config/VisionPlan.h"

#include <filesystem>

namespace ingot::checkpoint {

struct VisionFamily;

/// The plan of `root`, the whole of a config.json, whose text part is `text`. Errors: those of
/// Json, INGOT-E1051, E1053 and E1057.
Expected<VisionPlan> readVisionPlan(const Json &root, const VisionFamily &family,
                                    const ModelConfig &text);

/// Reads preprocessor_config.json or processor_config.json of `directory` into `plan`, as far as
/// they are there; those that are, are added to `inputs`. Errors as readVisionPlan.
Outcome readImageSettings(const std::filesystem::path &directory, const VisionFamily &family,
                          VisionPlan &plan, std::vector<std::filesystem::path> &inputs);

} // namespace ingot::checkpoint
