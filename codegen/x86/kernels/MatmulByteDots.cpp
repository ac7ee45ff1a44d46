// SPDX-License-Identifier: Apache-2.0
// Products of bytes with VNNI.
#include "codegen/x86/kernels/MatmulBytes.h"

namespace ingot::x86 {
namespace {

/// Weights have no sign.
struct ByteDots : ByteProduct {
  static constexpr int32_t bias = 128;

  [[gnu::always_inline]] static Ints dot(Ints sum, Ints weight, Ints x) {
#ifdef __AVX512VNNI__
    return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)weight, (__m512i)x);
#else
    return byHalves<Ints>([](__m256i sum, __m256i w, __m256i x) __attribute__((
                              always_inline)) { return _mm256_dpbusd_avx_epi32(sum, w, x); },
                          sum, weight, x);
#endif
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::ByteMethod<ingot::x86::ByteDots>>(launch);
}
