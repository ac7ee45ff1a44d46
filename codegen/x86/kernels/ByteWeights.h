// SPDX-License-Identifier: Apache-2.0
// Columns of panels as bytes for products of bytes: integers as they are stored, numbers of a code
// book, or int8.
#pragma once

#include "codegen/x86/kernels/ByteProducts.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// Whether bytes of weights get 128 added; those for AMX are signed.
inline bool hasBias() { return unsignedWeights && !usesTiles(); }

/// What products see of a signed byte, less the byte.
inline int32_t int8Bias() { return hasBias() ? 128 : 0; }

/// Bytes as `dot`, or AMX, wants them.
[[gnu::always_inline]] inline Ints biased(Ints bytes) {
  return hasBias() ? (Ints)((UInts)bytes ^ 0x80808080u) : bytes;
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
inline int32_t uniformBias() {
  if (!hasFields() || ingot_const_zeros == kCodeBook)
    return int8Bias();
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

/// Bytes of a panel before column `k`, a multiple of columnStep().
inline int64_t panelOffset(int64_t k) {
  return hasFields() ? PanelFields::bytes(k) : k * panelRows * sizeOf(ingot_const_weight_type);
}

/// Columns that expandColumns takes at once.
inline int64_t columnStep() { return hasFields() ? 8 : 4; }

/// Columns [k, k + 8) of a panel as bytes; of int8 columns [k, k + 4), in `low`.
[[gnu::always_inline]] inline void expandColumns(const char *panel, int64_t k, Ints book, Ints &low,
                                                 Ints &high) {
  if (!hasFields()) {
    low = biased(loadVector<Ints>(panel + k * panelRows));
    return;
  }
  PanelFields::load(panel, k).toBytes(low, high);
  if (usesTiles() && ingot_const_zeros == kNoZeros) {
    low = lessByte(low, int32_t(middleOf(ingot_const_weight_type)));
    high = lessByte(high, int32_t(middleOf(ingot_const_weight_type)));
  }
  if (ingot_const_zeros == kCodeBook) {
    low = biased(lookUpBytes(low, book));
    high = biased(lookUpBytes(high, book));
  }
}

} // namespace ingot::x86
