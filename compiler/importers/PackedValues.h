// SPDX-License-Identifier: Apache-2.0
// Names of the tensors that hold the packed values of matrices.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace ingot::compiler {

/// Parts of a module that hold the packed values of its matrix.
inline constexpr llvm::StringLiteral kPackedValues[] = {
    ".qweight", ".weight_packed", ".weight_blocks", "._weight_qdata", ".W_q", ".B", "_blocks"};

} // namespace ingot::compiler
