// SPDX-License-Identifier: Apache-2.0
// Columns of panels as bytes for products of bytes: integers as they are stored, numbers of a code
// book, or int8.
#pragma once

#include "codegen/x86/kernels/Halves.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// What a method wants of the bytes of weights, unless it says otherwise.
struct ByteForm {
  /// Added to bytes with sign: for products that take weights without it, of which the input's sums
  /// take it off again.
  static constexpr int32_t bias = 0;
  /// Whether codes without zero points are less the middle of their range.
  static constexpr bool isCentred = false;
  /// Whether zero points are left to the sums, so that codes stay without sign.
  static constexpr bool keepsCodes = false;
  /// Whether what follows is prefetched where bytes are expanded.
  static constexpr bool prefetches = true;
};

/// Of bytes on AMX: with sign; what follows is prefetched while tiles multiply.
struct TileForm : ByteForm {
  static constexpr bool isCentred = true, prefetches = false;
};

/// Bytes as the method of `Form` wants them.
template <class Form> [[gnu::always_inline]] inline Ints biased(Ints bytes) {
  static_assert(Form::bias == 0 || Form::bias == 128);
  return Form::bias ? (Ints)((UInts)bytes ^ 0x80808080u) : bytes;
}

/// A code book of integers as 16 bytes, in every quarter of the vector.
[[gnu::always_inline]] inline Ints byteBook(const Weights &weights) {
  if (ingot_const_zeros != kCodeBook)
    return Ints{};
  Ints numbers = __builtin_convertvector(loadVector<Floats>(weights.zeros), Ints);
  UBytes bytes = __builtin_convertvector(numbers & 255, UBytes);
  struct Quarters {
    UBytes of[4];
  };
  return __builtin_bit_cast(Ints, Quarters{{bytes, bytes, bytes, bytes}});
}

/// The numbers of the book that the bytes of `places` name.
[[gnu::always_inline]] inline Ints lookUpBytes(Ints places, Ints book) {
#ifdef __AVX512BW__
  return (Ints)_mm512_shuffle_epi8((__m512i)book, (__m512i)places);
#else
  return byHalves<Ints>([](__m256i in, __m256i of)
                            __attribute__((always_inline)) { return _mm256_shuffle_epi8(in, of); },
                        book, places);
#endif
}

/// What the bytes that weights are expanded to have been moved by, in all lanes alike: codes stay
/// as they are stored, books and bytes are signed.
template <class Form> inline int32_t uniformBias() {
  if (!hasFields() || ingot_const_zeros == kCodeBook)
    return Form::bias;
  return ingot_const_zeros == kNoZeros ? int32_t(middleOf(ingot_const_weight_type)) : 0;
}

/// `bytes` less that of their lane.
[[gnu::always_inline]] inline Ints lessByte(Ints bytes, Ints byte) {
  using ByteLanes = uint8_t __attribute__((vector_size(64)));
  return (Ints)((ByteLanes)bytes - (ByteLanes)(byte * 0x01010101));
}
[[gnu::always_inline]] inline Ints lessByte(Ints bytes, int32_t byte) {
  return lessByte(bytes, Ints{} + byte);
}

/// Columns that expandColumns takes at once.
inline int64_t columnStep() { return hasFields() ? 8 : 4; }

/// Columns [k, k + 8) of a panel as bytes; of int8 columns [k, k + 4), in `low`.
template <class Form>
[[gnu::always_inline]] inline void expandColumns(const char *panel, int64_t k, Ints book, Ints &low,
                                                 Ints &high) {
  if (!hasFields()) {
    low = biased<Form>(loadVector<Ints>(panel + k * panelRows));
    return;
  }
  PanelFields::load(panel, k).toBytes(low, high);
  if (Form::isCentred && ingot_const_zeros == kNoZeros) {
    low = lessByte(low, int32_t(middleOf(ingot_const_weight_type)));
    high = lessByte(high, int32_t(middleOf(ingot_const_weight_type)));
  }
  if (ingot_const_zeros == kCodeBook) {
    low = biased<Form>(lookUpBytes(low, book));
    high = biased<Form>(lookUpBytes(high, book));
  }
}

} // namespace ingot::x86
