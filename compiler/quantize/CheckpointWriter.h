// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint: a model's own files and tensors, with some of them replaced.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/SafetensorsWriter.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace ingot::quantize {

struct CheckpointParts {
  const checkpoint::Checkpoint &original;
  std::vector<std::filesystem::path> files; ///< safetensors files with tensors to add, in order
  std::set<std::string> replaced;           ///< tensors that are left out, by names in files
  /// Keys of config.json that are set.
  nlohmann::ordered_json configuration = nlohmann::ordered_json::object();
  /// More such files, by their names.
  std::map<std::string, nlohmann::ordered_json> companions = {};
  bool keepsOtherParts = true; ///< tensors of parts that are not read are written too
};

/// Fills the new folder `folder`: weights in files of at most 4 GiB, or one larger tensor each,
/// config.json with what is set, and every other file that is no weights. `progress` gets
/// bytes done and in all. Errors: those of reading and writing.
checkpoint::Outcome writeCheckpoint(const CheckpointParts &parts,
                                    const std::filesystem::path &folder,
                                    const std::function<void(uint64_t, uint64_t)> &progress);

} // namespace ingot::quantize
