// SPDX-License-Identifier: Apache-2.0
// Rounding to the nearest by the extremes of each group, without any search: the error that no
// encoder may exceed. Written from the description of the types, not from the encoders.
#pragma once

#include "compiler/checkpoint/files/DType.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ingot::test {

/// How a type stores a number: the range of codes, and the codes of scales if they are coded.
struct PlainType {
  checkpoint::DType dtype;
  int group, low, high;
  bool hasOffset = false;
  int lowScale = 0, highScale = 0; ///< both 0: scales are f16 numbers
};

inline const std::vector<PlainType> plainTypes = {
    {checkpoint::DType::Q4_0, 32, -8, 7},
    {checkpoint::DType::Q4_1, 32, 0, 15, true},
    {checkpoint::DType::Q5_0, 32, -16, 15},
    {checkpoint::DType::Q5_1, 32, 0, 31, true},
    {checkpoint::DType::Q8_0, 32, -127, 127},
    {checkpoint::DType::Q2_K, 16, 0, 3, true, 0, 15},
    {checkpoint::DType::Q3_K, 16, -4, 3, false, -32, 31},
    {checkpoint::DType::Q4_K, 32, 0, 15, true, 0, 63},
    {checkpoint::DType::Q5_K, 32, 0, 31, true, 0, 63},
    {checkpoint::DType::Q6_K, 16, -32, 31, false, -128, 127},
};

inline double asHalf(double number) {
  return static_cast<double>(static_cast<_Float16>(static_cast<float>(number)));
}

/// The squared error of plain rounding of a block, weighted where there are weights.
inline double plainError(const PlainType &type, const float *x, int count, const float *weights) {
  const int groups = count / type.group;
  std::vector<double> scales(groups), offsets(groups);
  for (int g = 0; g < groups; ++g) {
    double low = x[g * type.group], top = low, extreme = low;
    for (int i = g * type.group; i < (g + 1) * type.group; ++i) {
      low = std::min<double>(low, x[i]);
      top = std::max<double>(top, x[i]);
      extreme = std::fabs(x[i]) > std::fabs(extreme) ? x[i] : extreme;
    }
    // Offsets of super-blocks are only subtracted.
    low = type.highScale > 0 ? std::min(low, 0.0) : low;
    offsets[g] = type.hasOffset ? -low : 0;
    scales[g] = type.hasOffset ? (top - low) / type.high : extreme / type.low;
  }
  auto store = [&](std::vector<double> &numbers, int lowCode, int highCode) {
    double extreme = 0;
    for (const double number : numbers)
      extreme = std::fabs(number) > std::fabs(extreme) ? number : extreme;
    const double super = asHalf(extreme / (lowCode < 0 ? lowCode : highCode));
    for (double &number : numbers) {
      const double code = super != 0 ? std::nearbyint(number / super) : 0;
      number = highCode > 0 ? super * std::clamp<double>(code, lowCode, highCode) : asHalf(number);
    }
  };
  store(scales, type.lowScale, type.highScale);
  store(offsets, 0, type.highScale);
  double error = 0;
  for (int i = 0; i < count; ++i) {
    const double scale = scales[i / type.group], offset = offsets[i / type.group];
    double code = scale != 0 ? std::nearbyint((x[i] + offset) / scale) : 0;
    code = std::clamp<double>(code, type.low, type.high);
    const double rest = x[i] - (code * scale - offset);
    error += (weights ? weights[i] : 1) * rest * rest;
  }
  return error;
}

} // namespace ingot::test
