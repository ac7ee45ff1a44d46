// SPDX-License-Identifier: Apache-2.0
// The tensor types of ggml: their numbers in a GGUF file, and what their blocks stand for. Layouts:
// `ggml/src/ggml-common.h` and `ggml-quants.c` of llama.cpp. Names and sizes are in DType.h.
#pragma once

#include "compiler/checkpoint/DType.h"
#include "compiler/checkpoint/Error.h"

#include <cstddef>

namespace ingot::checkpoint {

/// The type with this number; nothing for numbers that are unknown or no longer in use.
std::optional<DType> dtypeFromGgml(uint32_t number);

/// Whether decodeGgml knows the type. Not known: types whose values stand in code books (most IQ),
/// types for intermediate results (Q8_1, Q8_K), integers and F64.
bool canDecodeGgml(DType dtype);

/// The f32 values of whole blocks, bit for bit those of ggml's own scalar code. `out` has room for
/// exactly the elements of `blocks`. Slow and plain: what faster decoders are compared with.
/// Errors: INGOT-E1118 for a type it does not know or sizes that do not fit each other.
Outcome decodeGgml(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

} // namespace ingot::checkpoint
