// SPDX-License-Identifier: Apache-2.0
// TorchAO's tensors, as its support for safetensors takes them apart: the parts of `a.weight` are
// called `a._weight_qdata` and so on, and `__metadata__` says what they are parts of.
#pragma once

#include "compiler/checkpoint/files/Json.h"
#include "compiler/importers/StoredMatrix.h"

namespace ingot::compiler {

inline constexpr llvm::StringLiteral kTorchAoData = "._weight_qdata";

struct TorchAoTensor {
  checkpoint::Json data; ///< what its class has beside tensors
  int64_t rows, columns; ///< that share a scale
};

/// That of a matrix. Errors: INGOT-E1054 for a class that is not among `classes`, or where inputs
/// are scaled by what it has.
checkpoint::Expected<TorchAoTensor> torchAoTensor(const StoredMatrix &matrix,
                                                  llvm::ArrayRef<llvm::StringRef> classes);

} // namespace ingot::compiler
