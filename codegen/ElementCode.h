// SPDX-License-Identifier: Apache-2.0
// MLIR's element types as the codes that kernel templates know.
#pragma once

#include "codegen/native/kernels/Kernel.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ingot::codegen {

/// The code of `type`; -1 for a type that no kernel reads or writes.
inline int64_t elementCode(mlir::Type type) {
  if (type.isF32())
    return kF32;
  if (type.isF16())
    return kF16;
  if (type.isBF16())
    return kBf16;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return kE4m3;
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return kE5m2;
  if (type.isInteger(8))
    return kI8;
  if (type.isInteger(4))
    return kI4;
  if (type.isInteger(2))
    return kI2;
  if (type.isInteger(3))
    return kI3;
  if (type.isInteger(5))
    return kI5;
  if (type.isInteger(6))
    return kI6;
  return type.isInteger(32) ? kI32 : -1;
}

} // namespace ingot::codegen
