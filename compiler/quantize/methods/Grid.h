// SPDX-License-Identifier: Apache-2.0
// What weights are quantized to: integers or numbers of a book, and the scales and zero points that
// groups of them share.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::quantize {

using checkpoint::Expected;

/// Whether this machine has the instructions that the library is compiled for (x86-64: AVX2, FMA,
/// F16C). Where not, no other function here may be called.
bool isSupportedHere();

/// Types that scales are rounded to.
enum class ScaleType : uint8_t { F16, BF16, F32 };

/// How the integers of a matrix [rows, columns] are stored.
struct Grid {
  int32_t bits = 4;        ///< 2 to 8
  int64_t group = 128;     ///< columns that share a scale; 0: whole rows. The last may be short.
  bool zeroPoints = false; ///< false: scale * (code - 2^(bits-1)); true: scale * (code - zero)
  ScaleType scales = ScaleType::F16;

  /// The number of groups of a row.
  int64_t groups(int64_t columns) const;
  /// The largest code.
  int32_t most() const { return (1 << bits) - 1; }
};

/// Row-major.
struct QuantizedMatrix {
  Grid grid;
  int64_t rows = 0, columns = 0;
  std::vector<uint8_t> codes;   ///< [rows, columns], 0 ... 2^bits - 1
  std::vector<float> scales;    ///< [rows, groups], representable in grid.scales, > 0
  std::vector<uint8_t> zeros;   ///< [rows, groups], 0 ... 2^bits - 1; empty without zero points
  std::vector<int32_t> groupOf; ///< [columns]: the group of each column; empty: column / group
  std::span<const float> book;  ///< rising: what codes stand for in place of integers; or none

  int64_t groups() const { return grid.groups(columns); }
  int64_t groupOfColumn(int64_t column) const;
  /// The code that stands for 0.
  int32_t zeroOf(int64_t row, int64_t group) const;
  /// What `code` means in this group.
  float valueOf(int64_t row, int64_t group, uint8_t code) const;
  void dequantize(float *out) const; ///< [rows, columns]
};

/// How the range of a group is clipped: shares from 1 down to `least`, in `steps` equal steps, are
/// tried; the one with the smallest sum of |error|^power, weighed by importance, is taken.
struct ClipSearch {
  int32_t steps = 0;  ///< 0: no search
  float least = 0.5f; ///< the smallest share of the range tried, 0 < least <= 1
  float power = 2.4f; ///< > 0
};

/// The scale and zero of a group.
struct GroupFit {
  float scale = 1;
  int32_t zero = 0; ///< the code that stands for 0; without zero points 2^(bits-1)
};

/// Values and importance of a group, padded with zeros to a multiple of 8. One is made for each
/// thread; holds 8 bytes a column.
class GroupFitter {
public:
  GroupFitter(const Grid &grid, const ClipSearch &clip, int64_t columns, bool weighed);

  /// Where to write the `count` values (and importances, where weighed) of a group.
  float *values() { return padded.data(); }
  float *importance() { return weights.data(); }
  /// The fit of the `count` finite values written. A group of zeros has scale 1. A scale that the
  /// scale type cannot hold is its smallest positive or largest finite value.
  GroupFit fit(int64_t count);

private:
  GroupFit fitShare(float least, float most, float share) const;

  Grid grid;
  ClipSearch clip;
  bool weighed;
  std::vector<float> padded, weights;
};

/// A positive value rounded to nearest in `type`, kept positive and finite.
float roundScale(double value, ScaleType type);

/// What is wrong with the arguments of a quantization, or success. All methods refuse by it.
checkpoint::Outcome checkArguments(const float *weight, int64_t rows, int64_t columns,
                                   const Grid &grid, const ClipSearch &clip);
/// The same for inputs and the like: whether `count` numbers are finite.
checkpoint::Outcome checkFinite(const float *values, int64_t count, const char *what);

} // namespace ingot::quantize
