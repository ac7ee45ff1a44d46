// SPDX-License-Identifier: Apache-2.0
// BlockSource: the numbers of one block, brought near one by a power of two, so that squares
// neither overflow nor vanish, and their weights.
#pragma once

#include "compiler/quantize/ggml/GroupFit.h"

namespace ingot::quantize {

class BlockSource {
public:
  static constexpr int kMost = 256;

  /// `importance` may be null: all numbers count alike, as they do where all of it is zero.
  BlockSource(const float *values, const float *importance, int count);

  /// Group `index` of groups of `size` numbers.
  Group group(int index, int size) const {
    const int lanes = size / kLanes;
    return {x + index * lanes, w + index * lanes, lanes};
  }
  bool isZero() const { return zero; }

  /// The nearest f16 number to a scale or offset, in the numbers here and as it is stored.
  float toHalf(float value) const { return scaled(storedHalf(value), exponent); }
  /// The same, but no other number than zero becomes zero: small codes can make up for a scale that
  /// is too large.
  float toHalfKept(float value) const {
    const float half = toHalf(value);
    return half == 0 && value != 0 ? nextHalf(value, 1) : half;
  }
  float stored(float value) const { return scaled(value, -exponent); }
  /// The f16 number `steps` above or below the one that is stored for `value`.
  float nextHalf(float value, int steps) const;

private:
  static float scaled(float value, int by) {
    return static_cast<float>(std::ldexp(static_cast<double>(value), by));
  }
  float storedHalf(float value) const;

  Lanes x[kMost / kLanes], w[kMost / kLanes];
  int exponent = 0;
  bool zero = false;
};

} // namespace ingot::quantize
