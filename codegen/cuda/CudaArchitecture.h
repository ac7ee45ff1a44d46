// SPDX-License-Identifier: Apache-2.0
// What is known of each architecture that the CUDA targets are built for, and how fast its parts
// are.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ingot::codegen {

/// Operands of products on tensor cores; sums have 32 bits.
enum class ProductType { Halves, Float8, Integers };

/// One product that is sold. Its rates choose kernels and predict times; they promise nothing, and
/// no result depends on them.
struct CudaPart {
  llvm::StringLiteral name; ///< "h200": a word for facts
  int64_t multiprocessors;
  int64_t cacheBytes; ///< of L2
  /// GB/s: of the data sheet, and what copies reach.
  double gigabytesPerSecond, copiedPerSecond;
  /// TFLOP/s of products without sparsity, as the data sheet has them; 0: there are none.
  double halves, float8, integers;
  /// What mma.sync reaches of them.
  double mmaShare;

  /// Operations a second of the data sheet; of halves where there are none of `type`.
  double peak(ProductType type) const;
};

/// One target: what its kernels must keep within.
struct CudaArchitecture {
  llvm::StringLiteral name;                        ///< "sm_90a"
  int version;                                     ///< 90: __CUDA_ARCH__ / 10
  int64_t sharedPerBlock, sharedPerMultiprocessor; ///< bytes
  int64_t threadsPerMultiprocessor, blocksPerMultiprocessor;
  /// Bits that a sum of e4m3 products keeps below its largest term, where mma.sync on e4m3 is an
  /// instruction of its own; else 0.
  int64_t fp8SumBits;
  /// The typical one, for which kernels are chosen, first.
  llvm::ArrayRef<CudaPart> parts;

  bool hasFp8Products() const { return fp8SumBits > 0; }
  /// Copies of boxes of a tensor by one thread (TMA), which barriers in shared memory count.
  bool hasTensorCopies() const { return version >= 90; }
  const CudaPart &typicalPart() const { return parts.front(); }
};

/// What a sum of 16-bit products keeps below its largest term, on every architecture.
inline constexpr int64_t kHalfSumBits = 24;

/// All architectures, ascending.
llvm::ArrayRef<CudaArchitecture> cudaArchitectures();

/// The one called `name`; null if there is none.
const CudaArchitecture *findCudaArchitecture(llvm::StringRef name);

} // namespace ingot::codegen
