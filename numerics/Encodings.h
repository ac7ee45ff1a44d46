// SPDX-License-Identifier: Apache-2.0
// The only list of encodings: how stored integers or 8-bit floats stand for the values of a weight.
// What each means stands in dialects/llm/LlmTypes.td.
#pragma once

#include "numerics/EncodingForms.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace ingot {

enum class EncodingKind : uint8_t {
  Int2,
  Int3,
  Int4,
  Int5,
  Int6,
  Int8,
  Fp8,
  Affine2,
  Affine4,
  Affine5,
  Affine8,
  CodeBook4,
  CodeBook8
};

struct EncodingRow {
  std::string_view name; ///< as #llm.encoding has it
  ElementType element;   ///< of stored values
  ZeroForm zeros;        ///< none: zero points where a weight has them
  bool zeroPoints;       ///< whether one may
  bool byTensor;         ///< whether one scale may be for the whole weight
};

/// By EncodingKind.
inline constexpr EncodingRow kEncodings[] = {
    {"int2", kI2, kNoZeros, true, false},      {"int3", kI3, kNoZeros, true, false},
    {"int4", kI4, kNoZeros, true, false},      {"int5", kI5, kNoZeros, true, false},
    {"int6", kI6, kNoZeros, true, false},      {"int8", kI8, kNoZeros, true, false},
    {"fp8", kE4m3, kNoZeros, false, true},     {"affine2", kI2, kOffsets, false, false},
    {"affine4", kI4, kOffsets, false, false},  {"affine5", kI5, kOffsets, false, false},
    {"affine8", kI8, kOffsets, false, false},  {"codebook4", kI4, kCodeBook, false, false},
    {"codebook8", kI8, kCodeBook, false, true}};

/// Nothing for a name that is no encoding.
constexpr std::optional<EncodingKind> findEncoding(std::string_view name) {
  for (size_t kind = 0; kind < std::size(kEncodings); ++kind)
    if (kEncodings[kind].name == name)
      return static_cast<EncodingKind>(kind);
  return std::nullopt;
}

/// Extents of one of a weight's tensors; of one extent where `columns` is 0, not there where both
/// are.
struct PartShape {
  int64_t rows = 0, columns = 0;
};

/// The encoding of one weight.
struct Encoding {
  EncodingKind kind = EncodingKind::Int8;
  int64_t group = 0;       ///< columns that share a scale; 0: a row; -1: the whole weight
  bool zeroPoints = false; ///< stored, as i8
  ScaleForm scales = kPlainScales;

  constexpr bool operator==(const Encoding &) const = default;
  constexpr const EncodingRow &row() const { return kEncodings[static_cast<size_t>(kind)]; }
  constexpr ElementType element() const { return row().element; }
  constexpr int bits() const { return elementBits(element()); }
  constexpr ZeroForm zeros() const { return zeroPoints ? kZeroPoints : row().zeros; }
  constexpr bool hasOffsets() const { return zeros() == kOffsets; }
  constexpr bool hasCodeBook() const { return zeros() == kCodeBook; }
  /// Whether products of integers can use what is stored: the scale multiplies it less its zero.
  constexpr bool isInteger() const { return !isFloat(element()) && row().zeros == kNoZeros; }
  /// What stored values stand around where there are no zeros.
  constexpr int middle() const { return isInteger() ? middleOf(element()) : 0; }

  constexpr bool hasSuperScales() const { return scales != kPlainScales; }
  constexpr ScaleExtent extent() const { return group < 0 ? kTensorScale : kRowScales; }
  /// Numbers of a group, or of a block: its scale and its offset.
  constexpr int groupNumbers() const { return hasOffsets() ? 2 : 1; }
  /// What scale codes of `element` stand around.
  constexpr int codeMiddle(ElementType element) const {
    return hasOffsets() ? 0 : middleOf(element);
  }

  /// Scale groups along a row of `columns` elements.
  constexpr int64_t groupsOf(int64_t columns) const {
    return group > 0 ? (columns + group - 1) / group : 1;
  }
  /// The tensors beside values of [rows, columns].
  constexpr PartShape scaleShape(int64_t rows, int64_t columns) const {
    return {group < 0 ? 1 : rows, groupsOf(columns)};
  }
  constexpr PartShape zeroShape(int64_t rows, int64_t columns) const {
    return zeros() == kNoZeros ? PartShape{}
           : hasCodeBook()     ? PartShape{int64_t{1} << bits(), 0}
                               : scaleShape(rows, columns);
  }
  constexpr PartShape superShape(int64_t rows, int64_t columns) const {
    return scales == kBlockScales   ? PartShape{rows, columns / kSuperColumns * groupNumbers()}
           : scales == kTableScales ? PartShape{kTableNumbers, 0}
                                    : PartShape{};
  }
};

/// How an engine holds a weight: its encoding, and the element types of what is beside it.
struct HeldFormat {
  Encoding encoding;        ///< where groups differ from weight to weight, with the usual one
  ElementType scale = kF16; ///< of scales and offsets, or of what their codes stand for
  ElementType code = kI8;   ///< of scales that are codes

  constexpr ElementType scaleElement() const { return encoding.hasSuperScales() ? code : scale; }
  constexpr ElementType zeroElement() const {
    return encoding.zeroPoints ? kI8 : encoding.hasCodeBook() ? kF32 : scaleElement();
  }
  /// That an engine stores for an element, all of a row of `columns` taken together.
  constexpr double bitsPerElement(int64_t columns) const {
    auto bits = [](PartShape shape, ElementType element) {
      return double(shape.columns ? shape.rows * shape.columns * elementBits(element) : 0);
    };
    return encoding.bits() + (bits(encoding.scaleShape(1, columns), scaleElement()) +
                              bits(encoding.zeroShape(1, columns), zeroElement()) +
                              bits(encoding.superShape(1, columns), scale)) /
                                 double(columns);
  }
};

} // namespace ingot
