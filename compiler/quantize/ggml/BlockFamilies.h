// SPDX-License-Identifier: Apache-2.0
// The encoders of ggml's families of blocks: from numbers to the parts of a block.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/gguf/GgmlBlock.h"
#include "compiler/quantize/ggml/BlockSource.h"

namespace ingot::quantize {

/// Blocks of 32 with an f16 scale: Q4_0, Q5_0, Q8_0, IQ4_NL.
void encodeScaled(checkpoint::DType dtype, const BlockSource &source, checkpoint::GgmlBlock &parts);

/// Blocks of 32 with an f16 scale and an f16 offset: Q4_1, Q5_1.
void encodeAffine(checkpoint::DType dtype, const BlockSource &source, checkpoint::GgmlBlock &parts);

/// Super-blocks whose groups have a scale as a code: Q3_K, Q6_K, IQ4_XS.
void encodeScaledSuper(checkpoint::DType dtype, const BlockSource &source,
                       checkpoint::GgmlBlock &parts);

/// Super-blocks whose groups have a scale and an offset as codes: Q2_K, Q4_K, Q5_K.
void encodeAffineSuper(checkpoint::DType dtype, const BlockSource &source,
                       checkpoint::GgmlBlock &parts);

/// The sixteen numbers of IQ4_NL and IQ4_XS.
const BookLevels &iq4Levels();

/// The stored codes of a group at this scale.
template <class Levels>
void storeScaled(const Group &group, const Levels &levels, float scale, uint8_t *stored) {
  const Lanes inverse = splat(scale == 0 ? 0 : 1 / scale);
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes level = levels.nearest(group.x[i] * inverse);
    for (int lane = 0; lane < kLanes; ++lane)
      stored[i * kLanes + lane] = levels.codeOf(level[lane]);
  }
}

void storeAffine(const Group &group, float high, float scale, float offset, uint8_t *stored);

} // namespace ingot::quantize
