// SPDX-License-Identifier: Apache-2.0
// Reading and checking config.json.
#pragma once

#include "compiler/checkpoint/config/ModelConfig.h"

namespace ingot::checkpoint {

/// The configuration in a config.json; with ModelParts::All also of its vision part. Errors: those
/// of Json, and INGOT-E1050 to E1057, each naming the key.
Expected<ModelConfig> parseModelConfig(std::string_view text, const std::string &fileName,
                                       ModelParts parts = ModelParts::Text);
Expected<ModelConfig> readModelConfig(const std::filesystem::path &path,
                                      ModelParts parts = ModelParts::Text);

} // namespace ingot::checkpoint
