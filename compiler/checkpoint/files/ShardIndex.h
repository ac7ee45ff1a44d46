// SPDX-License-Identifier: Apache-2.0
// ShardIndex: `model.safetensors.index.json`, which says in which file each tensor lies.
#pragma once

#include "compiler/checkpoint/files/Json.h"

namespace ingot::checkpoint {

struct ShardIndex {
  std::vector<std::string> files; ///< plain file names, sorted, each once
  /// Tensor name and the index of its file in `files`; sorted by name.
  std::vector<std::pair<std::string, uint32_t>> tensors;

  /// Errors: those of Json, and INGOT-E1032 for a file name that is not a plain
  /// `*.safetensors` name (it could lead out of the directory).
  static Expected<ShardIndex> parse(std::string_view text, const std::string &fileName);
  static Expected<ShardIndex> read(const std::filesystem::path &path);
};

} // namespace ingot::checkpoint
