// SPDX-License-Identifier: Apache-2.0
// Writes the tokenizer section of an engine.
#pragma once

#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

#include <cstdint>
#include <vector>

namespace ingot::compiler {

/// `spec` as the bytes of runtime/schema/Tokenizer.fbs. Equal specs give equal bytes.
std::vector<uint8_t> writeTokenizer(const checkpoint::TokenizerSpec &spec);

} // namespace ingot::compiler
