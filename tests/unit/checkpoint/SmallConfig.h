// SPDX-License-Identifier: Apache-2.0
// A small config.json, with changes.
#pragma once

#include "compiler/checkpoint/config/ConfigReader.h"

#include <nlohmann/json.hpp>

namespace ingot::test {

/// A small valid configuration with some keys replaced; a key given as null is removed.
inline checkpoint::Expected<checkpoint::ModelConfig> configWith(std::string_view changes) {
  auto json = nlohmann::json::parse(R"({"architectures": ["LlamaForCausalLM"],
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 512})");
  json.merge_patch(nlohmann::json::parse(changes));
  return checkpoint::parseModelConfig(json.dump(), "config.json");
}

} // namespace ingot::test
