// SPDX-License-Identifier: Apache-2.0
// The readers that compiler/checkpoint/quantized/StoredFormats.h lists.
#pragma once

#include "compiler/importers/StoredMatrix.h"

namespace ingot::compiler {

#define INGOT_FORMAT_READER(name, ...)                                                             \
  checkpoint::Expected<llm::EncodedWeight> read##name(StoredMatrix &matrix);
INGOT_FORMAT_READERS(INGOT_FORMAT_READER)
#undef INGOT_FORMAT_READER

/// Blocks of ggml along the inputs, which their type tells.
checkpoint::Expected<llm::EncodedWeight> readBlocks(StoredMatrix &matrix);

} // namespace ingot::compiler
