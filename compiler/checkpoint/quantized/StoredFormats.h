// SPDX-License-Identifier: Apache-2.0
// The registry of the ways in which checkpoints store matrices quantized: how a configuration calls
// them, who reads them and what an engine holds then, or why they are refused. ggml's block types
// have theirs in GgmlBlocks.h. docs/formats.md is printed from both.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "numerics/Encodings.h"

#include <array>

namespace ingot::checkpoint {

/// Who takes the tensors of a matrix apart (compiler/importers/StoredWeights.cpp has the list).
enum class FormatReader : uint8_t {
  None, ///< the format is refused
  AwqByColumns,
  AwqByRows,
  AwqFast,
  Gptq,
  PackedIntegers,
  Integers,
  Float8,
  NvFp4,
  MxFp4,
  MxFp8,
  NibblesOfRows,
  BitsAndBytes4,
  BitsAndBytes8,
  TorchAoInt4,
};

struct StoredFormat {
  std::string_view method;                       ///< as `quant_method` has it
  std::array<std::string_view, 3> packings = {}; ///< as the method's own key has them
  std::string_view numbers = {};                 ///< what is stored, for people
  FormatReader reader = FormatReader::None;
  uint32_t bits = 0, scaleBits = 16; ///< of a stored number and of a scale
  HeldFormat held = {};
  std::string_view refusal = {}; ///< why it has no reader

  bool isRead() const { return reader != FormatReader::None; }
  /// Whether an engine holds more bits than the checkpoint.
  bool isWidened() const;
};

std::span<const StoredFormat> storedFormats();

/// The first format of `method` that is called `packing`; null for others.
const StoredFormat *findFormat(std::string_view method, std::string_view packing);

/// The formats of `reader` with numbers of `bits`, with zero points or not; null if it has none.
const StoredFormat *findFormat(FormatReader reader, uint32_t bits, bool zeroPoints);

} // namespace ingot::checkpoint
