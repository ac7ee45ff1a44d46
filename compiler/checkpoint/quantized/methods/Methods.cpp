// SPDX-License-Identifier: Apache-2.0
// Looks formats up in all methods.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint {

const StoredFormat *findFormat(FormatReader reader, uint32_t bits, bool zeroPoints) {
  for (const QuantizationMethod *method : methods::all)
    for (const StoredFormat &format : method->formats)
      if (format.reader == reader && format.bits == bits &&
          format.held.encoding.zeroPoints == zeroPoints)
        return &format;
  return nullptr;
}

} // namespace ingot::checkpoint
