// SPDX-License-Identifier: Apache-2.0
// Fragments of tensor-core products. The weight is the m16 side, tokens are the n8 side; packed
// weights hold together what one lane needs of 16 rows (codegen/cuda/MatmulLayout.cpp). Every
// decoding is exact: integers and 8-bit floats are numbers that f16 and bf16 hold.
#pragma once

#include "MatmulPlanes.cuh"

namespace matmul {

/// The product that runs: on 16-bit floats, on bytes of integers or of 8-bit floats as they are
/// stored, or on 8-bit floats decoded to f16 on both sides.
enum class Product { Bf16, F16, Integer, Float8, Float8AsF16 };

constexpr Product kProduct = constants::input_type == kBf16    ? Product::Bf16
                             : constants::input_type == kF16   ? Product::F16
                             : constants::input_type != kE4m3  ? Product::Integer
                             : constants::float8_products != 0 ? Product::Float8
                                                               : Product::Float8AsF16;
/// Both sides go to the tensor cores as bytes.
constexpr bool kByteProducts = kProduct == Product::Integer || kProduct == Product::Float8;
constexpr i64 kWeightType = constants::weight_type;
constexpr bool kNibbles = kWeightType == kI4;
constexpr bool kPlanes = hasPlanes(elementBits(kWeightType));
/// Stored elements are places in a code book (MatmulCodeBook.cuh).
constexpr bool kLooksUp = constants::zeros == kCodeBook;
/// Groups have offsets beside their scales.
constexpr bool kAddsOffsets = constants::zeros == kOffsets;
/// Decoding takes a zero off.
constexpr bool kSubtracts =
    !kLooksUp && (kNibbles || kPlanes || (kWeightType == kI8 && !kByteProducts));
constexpr bool kWideWeights = kWeightType == kBf16 || kWeightType == kF16;
/// Weights are as wide as inputs, and stored in matrices of eight rows.
constexpr bool kStoredMatrices =
    kWideWeights || ((kByteProducts || kProduct == Product::Float8AsF16) && !kNibbles && !kPlanes);
/// Columns of k in a packed block of 16 rows, and its bytes.
constexpr int kBlockDepth = kNibbles || kPlanes ? 64 : kWideWeights ? 16 : 32;
constexpr int kBlockBytes = kWideWeights ? 512 : kBlockDepth * 16 * elementBits(kWeightType) / 8;
/// Columns of k whose fragments are loaded together, and the words that the lane then has of them.
constexpr int kStepDepth = 64;
constexpr int kStepWords = kPlanes ? 8 : 4 * kStepDepth / kBlockDepth;
/// Columns of k that one instruction multiplies.
constexpr int kProductDepth = kByteProducts ? 32 : 16;

/// What decoded numbers must be multiplied by, a power of two; applied to the sums.
constexpr bool kConverts8 = __CUDA_ARCH__ >= 890; ///< e4m3 to f16 is an instruction
constexpr float kDecodedUnit = kProduct == Product::Float8AsF16 ? (kConverts8 ? 1.0f : 65536.0f)
                               : kProduct == Product::F16 && kWeightType == kE4m3
                                   ? (kConverts8 ? 1.0f : 256.0f)
                                   : 1.0f;

/// What the lane's sums are while a group is open.
template <bool Integers> struct SumOf {
  using Type = float;
};
template <> struct SumOf<true> {
  using Type = i32;
};
using Accumulator = SumOf<kInteger>::Type;

//===- Decoding -----------------------------------------------------------------------------===//

/// Bytes 0 and 2 (`High` = 0) or 1 and 3 of a word of e4m3 codes as two halves of the product.
template <int High> INGOT_DEVICE u32 decodeFloat8(u32 word) {
  u32 codes = High ? word : word << 8; // in the high bytes of the halves
  if constexpr (kProduct == Product::Bf16) {
    // As the bf16 of 2^-120 times the value, times 2^120.
    u32 shifted = ptx::andOr(codes >> 4, 0x07f007f0u, codes & 0x80008000u);
    return ptx::fmaBf16x2(shifted, 0x7b807b80u, 0x80008000u);
  } else {
#if __CUDA_ARCH__ >= 890
    return ptx::f16x2FromE4m3x2(u16(ptx::permuteBytes(word, 0, High ? 0x4431 : 0x4420)));
#else
    return ptx::andOr(codes >> 1, 0x3f803f80u, codes & 0x80008000u);
#endif
  }
}

/// Bytes 0 and 2 or 1 and 3 of a word of i8 as two halves, less `zero` (2^23 + 128 + zero in f32
/// for bf16, the half of 1024 + 128 + zero twice for f16).
template <int High> INGOT_DEVICE u32 decodeByte(u32 word, u32 zero) {
  u32 biased = word ^ 0x80808080u;
  if constexpr (kProduct == Product::Bf16) {
    // 2^23 + byte in f32; the difference is an integer of 8 bits, whole in the upper half.
    constexpr u32 low = High ? 0x7651 : 0x7650, high = High ? 0x7653 : 0x7652;
    float a = __uint_as_float(ptx::permuteBytes(biased, 0x4b000000u, low)) - __uint_as_float(zero);
    float b = __uint_as_float(ptx::permuteBytes(biased, 0x4b000000u, high)) - __uint_as_float(zero);
    return ptx::permuteBytes(__float_as_uint(a), __float_as_uint(b), 0x7632);
  } else {
    u32 packed = ptx::permuteBytes(biased, 0x64646464u, High ? 0x4341 : 0x4240);
    return ptx::subtractF16x2(packed, zero); // from 1024 + byte
  }
}

/// The halves 128 (bf16) or 1024 (f16), twice: a small integer in their lowest bits is added.
constexpr u32 kRaise = kProduct == Product::Bf16 ? 0x43004300u : 0x64006400u;

/// Raised integers less `zero`, which is raised, too.
INGOT_DEVICE u32 lessRaised(u32 raised, u32 zero) {
  if constexpr (kProduct == Product::Bf16)
    return ptx::fmaBf16x2(raised, 0x3f803f80u, zero ^ 0x80008000u);
  else
    return ptx::subtractF16x2(raised, zero);
}

/// Nibbles i and i + 4 as two halves, less `zero`, raised twice.
template <int Index> INGOT_DEVICE u32 decodeNibble(u32 word, u32 zero) {
  return lessRaised(ptx::andOr(word >> (4 * Index), 0x000f000fu, kRaise), zero);
}

/// Bytes 0 and 2 or 1 and 3, of less than 128, likewise.
template <int High> INGOT_DEVICE u32 decodeSmallByte(u32 word, u32 zero) {
  return lessRaised(ptx::permuteBytes(word, kRaise >> 8, High ? 0x4341 : 0x4240), zero);
}

/// The zero of weights without zero points. Where offsets are added it is made up for in them: so
/// sums stay small.
constexpr u32 kMiddle = kNibbles || kPlanes ? middleOf(kWeightType) : 0;

/// The zero of a row as lessRaised or decodeByte wants it; for integer products in each byte.
/// `zero`: as a byte.
INGOT_DEVICE u32 zeroWord(u32 zero) {
  constexpr bool narrow = kNibbles || kPlanes;
  if constexpr (!narrow && kProduct == Product::Bf16)
    return 0x4b000000u + (zero ^ 0x80u);
  else if constexpr (!narrow)
    return (0x6400u + (zero ^ 0x80u)) * 0x10001u;
  else if constexpr (kProduct == Product::Integer)
    return zero * 0x01010101u;
  else
    return kRaise + zero * 0x10001u;
}

/// Four bytes of 0 to 63, each less the zero.
INGOT_DEVICE u32 subtractZero(u32 bytes, u32 zero) {
  return ((bytes | 0x80808080u) - zero) ^ 0x80808080u;
}

/// The fragment of the product's step `Index` of kStepDepth / kProductDepth, from the lane's words.
/// `zeros`: of rows g and g + 8.
template <int Index>
INGOT_DEVICE void decodeWeights(u32 (&a)[4], const u32 (&words)[kStepWords],
                                const u32 (&zeros)[2]) {
  if constexpr (kProduct == Product::Integer && kNibbles) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      u32 word = words[2 * Index + row];
      a[row] = subtractZero(word & 0x0f0f0f0fu, zeros[row]);
      a[2 + row] = subtractZero(word >> 4 & 0x0f0f0f0fu, zeros[row]);
    }
  } else if constexpr (kProduct == Product::Integer && kPlanes) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      a[i] = subtractZero(words[4 * Index + i], zeros[i % 2]);
  } else if constexpr (kByteProducts || kWideWeights) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      a[i] = words[4 * Index + i];
  } else if constexpr (kNibbles) {
    u32 word = words[Index];
    a[0] = decodeNibble<0>(word, zeros[0]);
    a[1] = decodeNibble<1>(word, zeros[1]);
    a[2] = decodeNibble<2>(word, zeros[0]);
    a[3] = decodeNibble<3>(word, zeros[1]);
  } else {
    // A word holds one row of 16 columns: bytes 0 and 2 are the first half's, 1 and 3 the second's.
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      u32 word = words[2 * Index + row];
      if constexpr (kWeightType == kE4m3) {
        a[row] = decodeFloat8<0>(word);
        a[2 + row] = decodeFloat8<1>(word);
      } else if constexpr (kPlanes) {
        a[row] = decodeSmallByte<0>(word, zeros[row]);
        a[2 + row] = decodeSmallByte<1>(word, zeros[row]);
      } else {
        a[row] = decodeByte<0>(word, zeros[row]);
        a[2 + row] = decodeByte<1>(word, zeros[row]);
      }
    }
  }
}

/// The fragment of tokens for step `Index`. `words` are what ldmatrix gives: for 16-bit inputs of
/// 32 columns of k, for bytes of 64.
template <int Index> INGOT_DEVICE void decodeInputs(u32 (&b)[2], const u32 (&words)[4]) {
  if constexpr (kProduct == Product::Float8AsF16) {
    // Bytes 0 and 2 of a lane meet bytes 0 and 2 of the weights' words, and so on.
    b[0] = decodeFloat8<0>(words[Index]);
    b[1] = decodeFloat8<1>(words[Index]);
  } else {
    b[0] = words[2 * Index % 4];
    b[1] = words[2 * Index % 4 + 1];
  }
}

/// Chosen for architectures that have the instruction only.
INGOT_DEVICE void multiplyFloat8(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 890
  ptx::multiplyE4m3(d, a, b[0], b[1]);
#endif
}

template <class Number>
INGOT_DEVICE void multiply(Number (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (kProduct == Product::Integer)
    ptx::multiplyI8(d, a, b[0], b[1]);
  else if constexpr (kProduct == Product::Float8)
    multiplyFloat8(d, a, b);
  else if constexpr (kProduct == Product::Bf16)
    ptx::multiplyBf16(d, a, b[0], b[1]);
  else
    ptx::multiplyF16(d, a, b[0], b[1]);
}

} // namespace matmul
