// SPDX-License-Identifier: Apache-2.0
// Instructions of half a vector's length, where no longer ones are there.
#pragma once

#include "codegen/x86/kernels/Vector.h"
#include <immintrin.h>

namespace ingot::x86 {

/// A vector as two registers.
struct Halves {
  __m256i low, high;
};

/// use(...) of the vectors' low halves, and of their high ones.
template <class To, class Use, class... Of>
[[gnu::always_inline]] inline To byHalves(Use use, Of... of) {
  return __builtin_bit_cast(To, Halves{use(__builtin_bit_cast(Halves, of).low...),
                                       use(__builtin_bit_cast(Halves, of).high...)});
}

} // namespace ingot::x86
