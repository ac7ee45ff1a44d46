// SPDX-License-Identifier: Apache-2.0
// The only list of the kinds of #llm.encoding. What each one means stands in LlmTypes.td.
#pragma once

#include "dialects/llm/LlmDialect.h"

namespace ingot::llm {

/// What distinguishes a kind from the others.
struct EncodingTraits {
  enum class Element : uint8_t { I4, I8, F8E4M3 };
  llvm::StringLiteral name;
  Element element;
  Zeros zeros;     ///< the third tensor; None: zero points where the attribute says so
  bool zeroPoints; ///< whether it may
  bool byTensor;   ///< whether one scale may be for the whole weight
};

/// Null for a name that is no kind.
const EncodingTraits *findEncoding(llvm::StringRef kind);

/// Of an attribute, whose kind has been verified.
const EncodingTraits &traitsOf(EncodingAttr encoding);

} // namespace ingot::llm
