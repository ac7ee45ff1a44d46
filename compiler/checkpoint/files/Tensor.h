// SPDX-License-Identifier: Apache-2.0
// Tensor: where one stored tensor's bytes lie, whichever container holds them.
#pragma once

#include "compiler/checkpoint/files/DType.h"

#include <string>
#include <vector>

namespace ingot::checkpoint {

/// Elements are row-major, little-endian, and not aligned.
struct Tensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint64_t> shape; ///< outermost first
  uint32_t fileIndex = 0;      ///< which of the checkpoint's weight files
  uint64_t offset = 0;         ///< first byte, from the start of that file
  uint64_t bytes = 0;
};

} // namespace ingot::checkpoint
