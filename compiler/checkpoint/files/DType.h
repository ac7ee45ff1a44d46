// SPDX-License-Identifier: Apache-2.0
// DType: the element types of stored tensors, and how many bytes a tensor of them takes.
#pragma once

#include "runtime/schema/Elements.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::checkpoint {

/// Element types a file can store. F4, F6: OCP microscaling elements, packed without gaps. From
/// Q4_0 on: ggml's types, of which a row is a sequence of blocks that share scales (GgmlBlocks.h).
// clang-format off
enum class DType : uint8_t {
  Bool, U8, I8, U16, I16, U32, I32, U64, I64,
  F4, F6E2M3, F6E3M2, F8E4M3, F8E5M2, F8E8M0, F8E4M3Fnuz, F8E5M2Fnuz,
  F16, BF16, F32, F64, C64,
  Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K,
  IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS,
  TQ1_0, TQ2_0, MXFP4, NVFP4,
};
// clang-format on

/// What is stored as one piece: a single element, or a block of them.
struct DTypeUnit {
  uint32_t elements;
  uint32_t bits;
};

/// The name the container uses: "BF16", "F8_E4M3", "Q4_K", ...
std::string_view dtypeName(DType dtype);
/// The type a safetensors file calls `name`; nothing for unknown names and for block types.
std::optional<DType> dtypeFromName(std::string_view name);
/// The block type called `name`: "Q4_K"; nothing for other names.
std::optional<DType> blockTypeFromName(std::string_view name);
DTypeUnit dtypeUnit(DType dtype);
/// All types that are no block types.
std::vector<DType> elementTypes();
/// What weight expressions read elements as, 16-bit integers as bytes; nothing for those that no
/// expression begins with, and for block types.
std::optional<ElementType> readAs(DType dtype);
inline bool isBlockType(DType dtype) { return dtypeUnit(dtype).elements > 1; }

/// Bytes of a row-major tensor of `shape`. Nothing when they are more than 2^64 bits or no whole
/// number, or when a row is no whole number of blocks.
std::optional<uint64_t> storedBytes(DType dtype, std::span<const uint64_t> shape);

} // namespace ingot::checkpoint
