// SPDX-License-Identifier: Apache-2.0
// Names of the tensors that hold the packed values of matrices.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ingot::compiler {

/// Parts of a module that hold the packed values of its matrix, by the signatures of the readers.
llvm::ArrayRef<llvm::StringRef> packedValues();

} // namespace ingot::compiler
