// SPDX-License-Identifier: Apache-2.0
// What every kernel template includes: the launch structure and the stored element types.
#pragma once

#include "numerics/EncodingForms.h"
#include "runtime/schema/KernelAbi.h"

using namespace ingot;

/// Declares an integer constant of the kernel; its value comes from the op's `constants`.
#define INGOT_CONST(name) extern "C" const int64_t ingot_const_##name
/// The same of one that ops may leave out.
#define INGOT_CONST_OR(name, absent)                                                               \
  extern "C" [[gnu::weak]] const int64_t ingot_const_##name = absent
/// Declares a real constant of the kernel.
#define INGOT_REAL(name) extern "C" const double ingot_real_##name

#define INGOT_INLINE static inline __attribute__((always_inline))

template <class To, class From> INGOT_INLINE To bitCast(From from) {
  return __builtin_bit_cast(To, from);
}
