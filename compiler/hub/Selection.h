// SPDX-License-Identifier: Apache-2.0
// Which files of a repository make the model that is meant.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <vector>

namespace ingot::hub {

struct NamedSize {
  std::string name;
  uint64_t bytes = 0;
};

struct Selection {
  std::vector<std::string> files;
  std::string model; ///< the GGUF file, or its first part; empty: the folder
  /// At the top of the repository, and never fetched since reading them can run programs.
  std::vector<std::string> skipped;
  std::string
      why; ///< which of several GGUF files was chosen, to be told; empty: there was no choice
};

/// Of a folder with safetensors weights these, configuration and tokenizer; of GGUF files the one
/// whose name is `part` or ends with it as with a quantization, with all parts of a split one.
/// Without `part` it is Q4_K_M, or else the largest one, of those that fit in `memory` bytes; those
/// without quantization only where there are no others. `where`: what messages call the repository.
/// Errors: INGOT-E7314 (no model), E7315 (no such part, or several), E7316 (none fits).
checkpoint::Expected<Selection> selectFiles(const std::vector<NamedSize> &files,
                                            const std::string &part, uint64_t memory,
                                            const std::string &where);

/// The memory of this machine, or of the container that this process runs in, in bytes.
uint64_t memoryOfMachine();

} // namespace ingot::hub
