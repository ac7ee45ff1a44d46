// SPDX-License-Identifier: Apache-2.0
// Which bytes a number of sets tell apart.
#include "runtime/guided/ByteSet.h"

namespace ingot::runtime::guided {

ByteClasses::ByteClasses(std::span<const ByteSet> sets) {
  for (const ByteSet &set : sets) {
    if (count == 256)
      break;
    // A class that lies partly in the set is split: its bytes in the set get a new number.
    std::array<int, 256> inside;
    std::array<bool, 256> outside{};
    inside.fill(-1);
    for (unsigned byte = 0; byte < 256; ++byte)
      if (!set.contains(uint8_t(byte)))
        outside[of[byte]] = true;
    for (unsigned byte = 0; byte < 256; ++byte) {
      uint8_t old = of[byte];
      if (!set.contains(uint8_t(byte)) || !outside[old])
        continue;
      if (inside[old] < 0)
        inside[old] = int(count++);
      of[byte] = uint8_t(inside[old]);
    }
  }
  for (unsigned byte = 256; byte-- > 0;)
    representative[of[byte]] = uint8_t(byte);
}

} // namespace ingot::runtime::guided
