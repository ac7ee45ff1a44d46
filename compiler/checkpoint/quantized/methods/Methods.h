// SPDX-License-Identifier: Apache-2.0
// The only list of methods. A new one adds its file to this folder and its line here.
#pragma once

#include "compiler/checkpoint/quantized/methods/Method.h"

// clang-format off
#define INGOT_QUANTIZATION_METHODS(X) \
  X(awq) \
  X(gptq) \
  X(autoRound) \
  X(compressedTensors) \
  X(float8) \
  X(fbgemmFp8) \
  X(modelOpt) \
  X(quark) \
  X(bitsAndBytes) \
  X(hqq) \
  X(torchAo) \
  X(mxFp4)
// clang-format on

namespace ingot::checkpoint::methods {

#define INGOT_QUANTIZATION_METHOD(name) extern const QuantizationMethod name;
INGOT_QUANTIZATION_METHODS(INGOT_QUANTIZATION_METHOD)
#undef INGOT_QUANTIZATION_METHOD

#define INGOT_QUANTIZATION_METHOD(name) &name,
inline constexpr const QuantizationMethod *all[] = {
    INGOT_QUANTIZATION_METHODS(INGOT_QUANTIZATION_METHOD)};
#undef INGOT_QUANTIZATION_METHOD

} // namespace ingot::checkpoint::methods

namespace ingot::checkpoint {

/// The format of `reader` with numbers of `bits`, with zero points or not; null if it has none.
const StoredFormat *findFormat(FormatReader reader, uint32_t bits, bool zeroPoints);

} // namespace ingot::checkpoint
