// SPDX-License-Identifier: Apache-2.0
// What every kernel template includes: the launch structure and the stored element types.
#pragma once

#include "runtime/schema/Elements.h"
#include "runtime/schema/KernelAbi.h"

using namespace ingot;

/// What a weight's zeros buffer holds: nothing, zero points, offsets to add, a code book.
/// llm::Zeros has the same numbers.
enum ZerosCode : int64_t { kNoZeros = 0, kZeroPoints, kOffsets, kCodeBook };

/// How scales are stored: as they are, as codes in blocks with supers, as places in a table.
/// llm::ScaleForm has the same numbers.
enum ScaleFormCode : int64_t { kPlainScales = 0, kBlockScales, kTableScales };

/// Columns of a block of scale codes; llm::kSuperColumns.
constexpr int64_t kSuperColumns = 256;

/// Declares an integer constant of the kernel; its value comes from the op's `constants`.
#define INGOT_CONST(name) extern "C" const int64_t ingot_const_##name
/// Declares a real constant of the kernel.
#define INGOT_REAL(name) extern "C" const double ingot_real_##name

#define INGOT_INLINE static inline __attribute__((always_inline))

template <class To, class From> INGOT_INLINE To bitCast(From from) {
  return __builtin_bit_cast(To, from);
}
