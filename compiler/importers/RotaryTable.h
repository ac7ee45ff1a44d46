// SPDX-License-Identifier: Apache-2.0
// RotaryTable: what llm.rope is told of a model's rotary positions.
#pragma once

#include "compiler/checkpoint/config/Rope.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot::compiler {

struct RotaryTable {
  llvm::SmallVector<float> frequencies; ///< of each pair that rotates
  double factor = 1;                    ///< of cosines and sines
};

/// As transformers' `modeling_rope_utils.py` defines it. Where that goes by the length which a
/// sequence has reached, this goes by the declared context, so that a token's numbers do not depend
/// on what follows it.
RotaryTable rotaryTable(const checkpoint::Rope &rope, uint64_t headDim, int64_t maxContext);

} // namespace ingot::compiler
