// SPDX-License-Identifier: Apache-2.0
// Products of bytes without VNNI, of weights that are stored as codes without sign: some sums have
// 16 bits.
#include "codegen/x86/kernels/MatmulBytes.h"

namespace ingot::x86 {
namespace {

/// The four products of a lane's bytes, weights without sign, in two words; limited to 16 bits.
[[gnu::always_inline]] inline Words multiplyBytes(Ints weight, Ints x) {
#ifdef __AVX512BW__
  return (Words)_mm512_maddubs_epi16((__m512i)weight, (__m512i)x);
#else
  return byHalves<Words>([](__m256i w, __m256i x)
                             __attribute__((always_inline)) { return _mm256_maddubs_epi16(w, x); },
                         weight, x);
#endif
}

/// Columns whose products of codes by bytes have sums of 16 bits, of two columns in each step of
/// four.
inline int64_t halfColumns() {
  return 32767 / (2 * 128 * ((int64_t{1} << elementBits(ingot_const_weight_type)) - 1)) * 4;
}

struct ByteHalves : ByteProduct {
  static constexpr bool keepsCodes = true, sumsHalves = true;

  [[gnu::always_inline]] static Ints dot(Ints sum, Ints weight, Ints x) {
    return (Ints)((Words)sum + multiplyBytes(weight, x));
  }

  /// As many columns at a time as sums of 16 bits hold.
  template <int Rows, int Panels, class Add>
  [[gnu::always_inline]] static void addColumns(Ints (&sum)[Rows][Panels], int64_t first,
                                                int64_t end, Add add) {
    const int64_t step = halfColumns();
    const bool atOnce = groupWidth() <= step;
#pragma clang loop unroll(disable)
    for (int64_t k = first; k < end; k += step) {
      Ints halves[Rows][Panels] = {};
      add(halves, k, end - k < step ? end : k + step);
      readLater();
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] += multiplyWords((Words)halves[r][p], Words{} + 1);
      if (atOnce)
        break;
    }
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::ByteMethod<ingot::x86::ByteHalves>>(launch);
}
