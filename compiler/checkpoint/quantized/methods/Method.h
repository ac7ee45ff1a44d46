// SPDX-License-Identifier: Apache-2.0
// A method of quantization: its formats, and how its configuration is read. Each has a file in this
// folder and a line in Methods.h.
#pragma once

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/quantized/QuantizationConfig.h"

namespace ingot::checkpoint {

/// The configuration that a method's function reads, the formats it may name, and what it becomes.
/// A setting that would change the numbers is honoured, refused by name, or listed as declined.
struct MethodReader {
  using Activations = QuantizationConfig::Activations;
  using KvCache = QuantizationConfig::KvCache;
  static constexpr uint64_t mostColumns = 1u << 24;

  const Json &object;
  std::span<const StoredFormat> formats;
  QuantizationConfig &config;
  JsonFields fields{object};

  /// Refuses `key` by what it says.
  void refuse(std::string_view key, const std::string &what, std::string_view fix);
  /// Refuses `key` unless it is absent, null, false, 0 or empty.
  void refuseUnlessOff(std::string_view key, std::string_view fix);
  /// An error of a reader of what `key` has.
  void take(std::string_view key, const std::optional<Error> &error);

  /// The format that the value of `key` names, which config.packing becomes. Refuses it where the
  /// registry does, or does not have it; then null. `shown`: what is called so.
  const StoredFormat *format(std::string_view key, std::string_view name, std::string_view shown);
  /// A size of groups: -1 or null stands for a whole row.
  std::optional<uint64_t> group(std::string_view key);
  /// Rows and columns of a block, where `key` of `own` gives them.
  void readBlock(JsonFields &own, std::string_view key);

  /// Products read activations as they are stored, not as `what` of the checkpoint states.
  void declineActivations(std::string what, std::string stated);
  void declineCache(std::string stated);
};

struct QuantizationMethod {
  std::array<std::string_view, 2> names; ///< as `quant_method` has them
  std::span<const StoredFormat> formats;
  void (*read)(MethodReader &reader);
};

/// What rows of formats consist of. Groups are of 128 where checkpoints choose them.
namespace rows {

using Kind = EncodingKind;
using Reader = FormatReader;

inline constexpr HeldFormat int4{{Kind::Int4, 128}}, int4Zeros{{Kind::Int4, 128, true}},
    int8Rows{{Kind::Int8, 0}, kF32}, int8RowZeros{{Kind::Int8, 0, true}, kF32},
    fp8Blocks{{Kind::Fp8, 128}, kF32}, fp8Rows{{Kind::Fp8, 0}, kF32},
    fp8Tensor{{Kind::Fp8, -1}, kF32}, nvfp4{{Kind::CodeBook4, 16, false, kTableScales}, kF32},
    mxfp4{{Kind::CodeBook4, 32, false, kTableScales}, kF32},
    mxfp8{{Kind::Fp8, 32, false, kTableScales}, kF32};

inline constexpr std::string_view symmetric = "integers", withZeros = "integers, zero points",
                                  withOffsets = "integers, offsets",
                                  byBlocks = "e4m3, a scale for 128 x 128",
                                  byRows = "e4m3, a scale for a row", byTensor = "e4m3, one scale",
                                  e2m1E4m3 = "e2m1, e4m3 scales, one of the tensor",
                                  e2m1E8m0 = "e2m1, scales that are powers of two",
                                  e4m3E8m0 = "e4m3, scales that are powers of two";

/// Integers in words of 32 bits, by how many bits they have, with zero points or not.
constexpr std::array<StoredFormat, 8> words(std::array<std::string_view, 4> packings,
                                            Reader reader) {
  constexpr std::pair<uint32_t, Kind> kinds[] = {
      {2, Kind::Int2}, {3, Kind::Int3}, {4, Kind::Int4}, {8, Kind::Int8}};
  std::array<StoredFormat, 8> result{};
  size_t count = 0;
  for (auto [bits, kind] : kinds)
    for (bool zeros : {false, true})
      result[count++] = {packings, zeros ? withZeros : symmetric, reader, bits,
                         16,       {{kind, 128, zeros}}};
  return result;
}

/// Bytes with a scale for each row, or one of all, with zero points or not.
constexpr std::array<StoredFormat, 2> bytes(std::array<std::string_view, 4> packings) {
  return {{{packings, symmetric, Reader::Integers, 8, 32, int8Rows},
           {packings, withZeros, Reader::Integers, 8, 32, int8RowZeros}}};
}

/// e4m3, in whichever way scales are for it.
constexpr std::array<StoredFormat, 3> e4m3(std::array<std::string_view, 4> packings) {
  return {{{packings, byBlocks, Reader::Float8, 8, 32, fp8Blocks},
           {packings, byRows, Reader::Float8, 8, 32, fp8Rows},
           {packings, byTensor, Reader::Float8, 8, 32, fp8Tensor}}};
}

template <size_t... counts> constexpr auto join(const std::array<StoredFormat, counts> &...parts) {
  std::array<StoredFormat, (counts + ...)> result{};
  size_t count = 0;
  auto append = [&](const auto &part) {
    for (const StoredFormat &format : part)
      result[count++] = format;
  };
  (append(parts), ...);
  return result;
}

} // namespace rows

} // namespace ingot::checkpoint
