// SPDX-License-Identifier: Apache-2.0
// What is known of each architecture that the CUDA targets are built for.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ingot::codegen {

/// One target. Rates are of the data-centre or largest part of the architecture; they choose
/// kernels and promise nothing.
struct CudaArchitecture {
  llvm::StringLiteral name;                        ///< "sm_90a"
  int version;                                     ///< 90: __CUDA_ARCH__ / 10
  int64_t sharedPerBlock, sharedPerMultiprocessor; ///< bytes
  int64_t threadsPerMultiprocessor, blocksPerMultiprocessor;
  int64_t multiprocessors; ///< typical
  double gigabytesPerSecond, halfTeraflops;
  /// Bits that a sum of e4m3 products keeps below its largest term, where mma.sync on e4m3 is an
  /// instruction of its own; else 0.
  int64_t fp8SumBits;

  bool hasFp8Products() const { return fp8SumBits > 0; }
  /// Copies of boxes of a tensor by one thread (TMA), which barriers in shared memory count.
  bool hasTensorCopies() const { return version >= 90; }
};

/// What a sum of 16-bit products keeps below its largest term, on every architecture.
inline constexpr int64_t kHalfSumBits = 24;

/// All architectures, ascending.
llvm::ArrayRef<CudaArchitecture> cudaArchitectures();

/// The one called `name`; null if there is none.
const CudaArchitecture *findCudaArchitecture(llvm::StringRef name);

} // namespace ingot::codegen
