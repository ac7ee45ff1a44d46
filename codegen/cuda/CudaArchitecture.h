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

/// How a kernel's warps reach tensor cores: by mma.sync, or by wgmma with the weights in registers
/// or in shared memory.
enum class MmaFamily { MmaSync, WgmmaRegisters, WgmmaShared };

/// TFLOP/s by the type of products; 0: there are none of the type.
struct ProductRates {
  double halves, float8, integers;
};

/// One product that is sold. Its rates choose kernels and predict times; they promise nothing, and
/// no result depends on them.
struct CudaPart {
  llvm::StringLiteral name; ///< "h200": a word for facts
  int64_t multiprocessors;
  int64_t cacheBytes; ///< of L2
  double gigahertz;   ///< of the clock under load
  /// GB/s: of the data sheet, and what copies reach.
  double gigabytesPerSecond, copiedPerSecond;
  /// Products without sparsity: of the data sheet, and what the fastest kernels reach by wgmma.
  ProductRates sheet, reached;
  /// What mma.sync reaches of the data sheet.
  double mmaShare;
  /// Between kernels of a graph.
  double launchSeconds = 1.3e-6;
  /// A clock of a multiprocessor: bytes from L2 and from shared memory, instructions of warps.
  double cachedPerClock = 64, sharedPerClock = 128, issuedPerClock = 4;

  /// Operations a second of the data sheet; of halves where there are none of `type`. Floors are
  /// told by it.
  double peak(ProductType type) const;
  /// Operations a second that kernels of the family reach. Predictions are made by it.
  double rate(ProductType type, MmaFamily family) const;
  /// Clocks a second.
  double clock() const { return gigahertz * 1e9; }
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
