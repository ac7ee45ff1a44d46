// SPDX-License-Identifier: Apache-2.0
// The tensor types of ggml: their numbers in a GGUF file, and what their blocks stand for. Layouts:
// `ggml/src/ggml-common.h` and `ggml-quants.c` of llama.cpp. Names and sizes are in DType.h.
#pragma once

#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/gguf/GgmlBlock.h"
#include "numerics/Encodings.h"

#include <cstddef>

namespace ingot::checkpoint {

/// The type with this number; nothing for numbers that are unknown or no longer in use.
std::optional<DType> dtypeFromGgml(uint32_t number);

/// What the blocks of a type are, and what an engine holds of them: every value exactly.
struct GgmlEncoding {
  HeldFormat held;
  std::span<const float> codeBook{};   ///< of CodeBook4: 16 numbers
  std::span<const float> scaleTable{}; ///< what codes of scales stand for: 256 numbers
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
