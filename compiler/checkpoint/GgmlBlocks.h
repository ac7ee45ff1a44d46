// SPDX-License-Identifier: Apache-2.0
// The tensor types of ggml: their numbers in a GGUF file, and what their blocks stand for. Layouts:
// `ggml/src/ggml-common.h` and `ggml-quants.c` of llama.cpp. Names and sizes are in DType.h.
#pragma once

#include "compiler/checkpoint/Error.h"
#include "compiler/checkpoint/StoredFormats.h"

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
  DType scale = DType::F32;          ///< a type that holds scales and offsets exactly
  std::span<const float> codeBook{}; ///< of CodeBook4: 16 numbers

  bool hasOffsets() const { return kind == Kind::Affine4 || kind == Kind::Affine8; }
  bool fourBits() const { return elementBits(kind) == 4; }
  /// That an engine stores, scales and offsets included.
  double bitsPerElement() const {
    return elementBits(kind) +
           (hasOffsets() ? 2.0 : 1.0) * double(dtypeUnit(scale).bits) / double(group);
  }
};

/// Every type that a GGUF file may have, by its number.
std::span<const DType> ggmlTypes();

/// Nothing for plain types and for those that decodeGgml does not know. Lives forever.
const GgmlEncoding *ggmlEncoding(DType dtype);

/// Where the parts of one block go: `stored` has room for its elements, the others for its groups.
/// Offsets are written only where there are any.
struct GgmlParts {
  int8_t *stored;
  float *scales, *offsets;
};

/// Takes apart the block at `block` of a type that has a ggmlEncoding.
void splitGgml(DType dtype, const std::byte *block, const GgmlParts &parts);

/// Whether decodeGgml knows the type. Not known: types for intermediate results (Q8_1, Q8_K),
/// integers and F64.
bool canDecodeGgml(DType dtype);

/// The f32 values of whole blocks, bit for bit those of ggml's own scalar code. `out` has room for
/// exactly the elements of `blocks`. Slow and plain: what faster decoders are compared with.
/// Errors: INGOT-E1118 for a type it does not know or sizes that do not fit each other.
Outcome decodeGgml(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

} // namespace ingot::checkpoint
