// SPDX-License-Identifier: Apache-2.0
// Prints an epilogue or point-wise region as CUDA C++.
#pragma once

#include "mlir/IR/Region.h"
#include "llvm/Support/Error.h"

namespace ingot::codegen {

/// The definition of `float epilogue(float x0, ..., float x5)` (kernels/RegionMath.cuh). Argument i
/// of the region is parameter `parameters[i]`; an empty region is the identity of x0. Values of
/// type f16 and bf16 are kept as floats. Fails on an operation outside the list at llm.pointwise.
llvm::Expected<std::string> regionText(mlir::Region &region, llvm::ArrayRef<unsigned> parameters);

} // namespace ingot::codegen
