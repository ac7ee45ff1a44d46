// SPDX-License-Identifier: Apache-2.0
// The ways in which tensor cores form llm.matmul. Kernels of one product are of one method, since
// methods add in different orders.
#pragma once

#include "codegen/cuda/MatmulPlan.h"

namespace ingot::codegen {

/// A kernel template and what its kernels follow from.
struct MatmulMethod {
  llvm::StringLiteral source;
  MatmulNeeds needs;
  /// What joins an f32 sum at once, of how many columns, and by which instructions.
  engine::SumUnit unit;
  int64_t (*width)(const MatmulShape &shape, const CudaArchitecture &architecture);
  MmaFamily family;
  /// Whether it forms the product of a weight that has a layout for tensor cores.
  bool (*takes)(const MatmulShape &shape, const CudaArchitecture &architecture);
  /// What the instructions multiply.
  ProductType (*product)(const MatmulShape &shape, const CudaArchitecture &architecture);
  /// The tiles to choose from, those for few tokens first; the last one takes any number.
  llvm::SmallVector<Tile> (*tiles)(const MatmulShape &shape);
  /// Adds the constants that are the template's alone, and its evidence.
  void (*describe)(CudaVariant &variant, const MatmulShape &shape, const Plan &plan,
                   const CudaArchitecture &architecture);
};

/// mma.sync, on every architecture.
extern const MatmulMethod kTensorMethod;

/// wgmma, on sm_90a.
extern const MatmulMethod kGroupMethod;

} // namespace ingot::codegen
