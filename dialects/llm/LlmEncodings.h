// SPDX-License-Identifier: Apache-2.0
// The only list of the kinds of #llm.encoding. What each one means stands in LlmTypes.td.
#pragma once

#include "dialects/llm/LlmDialect.h"

namespace ingot::llm {

/// What distinguishes a kind from the others.
struct EncodingTraits {
  llvm::StringLiteral name;
  uint8_t bits;    ///< of an element
  bool isFloat;    ///< f8E4M3FN; integers otherwise
  Zeros zeros;     ///< the third tensor; None: zero points where the attribute says so
  bool zeroPoints; ///< whether it may
  bool byTensor;   ///< whether one scale may be for the whole weight
};

/// Null for a name that is no kind.
const EncodingTraits *findEncoding(llvm::StringRef kind);

/// Of an attribute, whose kind has been verified.
const EncodingTraits &traitsOf(EncodingAttr encoding);

} // namespace ingot::llm
