// SPDX-License-Identifier: Apache-2.0
// How blocks walk over rows of activations.
#pragma once

#include "Elements.cuh"
#include "Reductions.cuh"

/// Elements that a thread moves at once in rows of `columns`; at most `widest`.
INGOT_DEVICE constexpr int vectorWidth(i64 columns, int widest = 8) {
  int width = widest;
  while (columns % width != 0)
    width /= 2;
  return width;
}

/// The largest magnitude that scaled values reach in an 8-bit type.
INGOT_DEVICE constexpr float quantizedLimit(i64 code) {
  return code == kI8 ? 127.0f : code == kE4m3 ? 448.0f : 57344.0f;
}

/// The scale that brings values of at most `amax` into an 8-bit type; 1 for zeros.
template <i64 Code> INGOT_DEVICE float quantizedScale(float amax) {
  float scale = amax / quantizedLimit(Code);
  return scale > 0 ? scale : 1.0f;
}

/// value / scale, as near as an 8-bit type comes to it where the scale may be too small.
template <i64 Code, bool Clamped> INGOT_DEVICE float scaled(float value, float scale) {
  value = value / scale;
  return Clamped ? fminf(fmaxf(value, -quantizedLimit(Code)), quantizedLimit(Code)) : value;
}
