// SPDX-License-Identifier: Apache-2.0
// The tensor types of ggml: their numbers in a GGUF file, and what their blocks stand for. Layouts:
// `ggml/src/ggml-common.h` and `ggml-quants.c` of llama.cpp. Names and sizes are in DType.h.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/gguf/GgmlBlock.h"
#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <cstddef>

namespace ingot::checkpoint {

/// The type with this number; nothing for numbers that are unknown or no longer in use.
std::optional<DType> dtypeFromGgml(uint32_t number);

/// What the blocks of a type are: stored numbers of `kind`, with a scale and perhaps an offset for
/// every `group` of them. Each kind holds every value exactly.
struct GgmlEncoding {
  using Kind = EncodingKind;
  Kind kind = Kind::Int8;
  uint32_t group = 0;                ///< elements; divides a block's
  DType scale = DType::F32;          ///< holds scales and offsets, or what codes stand for, exactly
  uint32_t codeBits = 0;             ///< of scales that are codes themselves; 0: they are not
  std::span<const float> codeBook{}; ///< of CodeBook4: 16 numbers
  std::span<const float> scaleTable{}; ///< what codes of scales stand for: 256 numbers

  bool hasOffsets() const { return codeBook.empty() && encodingName(kind).starts_with("affine"); }
  /// Of a block, that its codes are multiplied by.
  uint32_t supers() const {
    return codeBits == 0 || !scaleTable.empty() ? 0 : hasOffsets() ? 2 : 1;
  }
  /// That an engine stores, scales and offsets included; `block`: elements.
  double bitsPerElement(uint32_t block) const {
    const uint32_t number = dtypeUnit(scale).bits, groups = block / group * (hasOffsets() ? 2 : 1);
    return elementBits(kind) +
           double(groups * (codeBits ? codeBits : number) + supers() * number) / double(block);
  }
};

/// Every type that a GGUF file may have, by its number.
std::span<const DType> ggmlTypes();

/// Nothing for plain types and for those that decodeGgml does not know. Lives forever.
const GgmlEncoding *ggmlEncoding(DType dtype);

/// Takes apart the block at `block` of a type that has a ggmlEncoding.
void splitGgml(DType dtype, const std::byte *block, GgmlBlock &parts);

/// Whether decodeGgml knows the type. Not known: types for intermediate results (Q8_1, Q8_K),
/// integers and F64.
bool canDecodeGgml(DType dtype);

/// The f32 values of whole blocks, bit for bit those of ggml's own scalar code. `out` has room for
/// exactly the elements of `blocks`. Slow and plain: what faster decoders are compared with.
/// Errors: INGOT-E1118 for a type it does not know or sizes that do not fit each other.
Outcome decodeGgml(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

} // namespace ingot::checkpoint
