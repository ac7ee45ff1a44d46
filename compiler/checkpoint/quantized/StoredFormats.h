// SPDX-License-Identifier: Apache-2.0
// The ways in which checkpoints store matrices quantized: how a configuration calls them, who reads
// them and what an engine holds then, or why they are refused. Their rows stand with their methods
// (methods/); ggml's block types have theirs in GgmlBlocks.h. docs/formats.md is printed from both.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "numerics/Encodings.h"

#include <array>
#include <span>

/// The readers of stored matrices, each a function in a file of its own in
/// compiler/importers/formats, with what tells the matrices that it takes.
///
/// X(name, signatures). A signature: a part that the module has, the type of its elements, another
/// part, and kStated where the configuration must name a format of this reader; empty where it does
/// not matter. The first line that fits decides.
// clang-format off
#define INGOT_FORMAT_READERS(X)                                                                    \
  X(AwqByRows, {".qweight", {}, "", kStated})                                                      \
  X(AwqFast, {".qweight", {}, "", kStated})                                                        \
  X(AwqByColumns, {".qweight", {}, "", kStated}, {".weight", DType::I32, "", kStated})             \
  X(Marlin, {".B"}, {".qweight", {}, "", kStated})                                                 \
  X(Gptq, {".qweight"})                                                                            \
  X(NvFp4, {".weight_packed", DType::U8, ".weight_global_scale"},                                  \
    {".weight_scale", DType::F8E4M3, ".weight_scale_2"})                                           \
  X(MxFp4, {".weight_packed", DType::U8}, {".weight_blocks"}, {"_blocks"},                         \
    {".weight", DType::U8, "", kStated})                                                           \
  X(PackedIntegers, {".weight_packed"})                                                            \
  X(TorchAoInt4, {"._weight_qdata", {}, "", kStated})                                              \
  X(BitsAndBytes4, {".weight.absmax"})                                                             \
  X(NibblesOfRows, {".weight", DType::U8, "", kStated})                                            \
  X(Hqq, {".W_q"})                                                                                 \
  X(BitsAndBytes8, {".weight", DType::I8, ".SCB"})                                                 \
  X(Integers, {".weight", DType::I8}, {"._weight_qdata", DType::I8})                               \
  X(MxFp8, {".weight_scale", DType::U8})                                                           \
  X(Float8, {".weight", DType::F8E4M3}, {"._weight_qdata", DType::F8E4M3})
// clang-format on

namespace ingot::checkpoint {

#define INGOT_FORMAT_READER(name, ...) name,
enum class FormatReader : uint8_t {
  None, ///< the format is refused
  INGOT_FORMAT_READERS(INGOT_FORMAT_READER)
};
#undef INGOT_FORMAT_READER

struct StoredFormat {
  std::array<std::string_view, 4> packings = {}; ///< as the method's own key has them
  std::string_view numbers = {};                 ///< what is stored, for people
  FormatReader reader = FormatReader::None;
  uint32_t bits = 0, scaleBits = 16; ///< of a stored number and of a scale
  HeldFormat held = {};
  std::string_view refusal = {}; ///< why it has no reader
  std::string_view instead = {}; ///< then: what gives a checkpoint that has one

  bool isRead() const { return reader != FormatReader::None; }
  /// Whether an engine holds more bits than the checkpoint.
  bool isWidened() const;
};

/// The first of `formats` that is called `packing`; null for others.
const StoredFormat *findFormat(std::span<const StoredFormat> formats, std::string_view packing);

} // namespace ingot::checkpoint
