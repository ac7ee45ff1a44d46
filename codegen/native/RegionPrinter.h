// SPDX-License-Identifier: Apache-2.0
// Prints an epilogue or point-wise region as the body of an LLVM function over vectors of floats.
#pragma once

#include "mlir/IR/Region.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Function;
}

namespace ingot::codegen {

/// Defines `function` (declared; all parameters and the result of one type, float or a vector of
/// floats) as `region`. Argument i of the region is parameter `parameters[i]`. Values of type f16
/// and bf16 are kept as floats that the narrow type holds exactly. Fails on an operation outside
/// the list at llm.pointwise, and where the module lacks a function that an operation needs.
llvm::Error printRegion(mlir::Region &region, llvm::Function &function,
                        llvm::ArrayRef<unsigned> parameters);

} // namespace ingot::codegen
