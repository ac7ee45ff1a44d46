// SPDX-License-Identifier: Apache-2.0
// The only list of architectures. Limits are those of the CUDA programming guide; bits of sums
// those of the published bit-exact models of tensor cores, as runtime/simulator/TensorMath.cpp.
#include "codegen/cuda/CudaArchitecture.h"

#include "llvm/ADT/STLExtras.h"

using namespace ingot::codegen;

llvm::ArrayRef<CudaArchitecture> ingot::codegen::cudaArchitectures() {
  constexpr int64_t KiB = 1024;
  static constexpr CudaArchitecture list[] = {
      {"sm_80", 80, 163 * KiB, 164 * KiB, 2048, 32, 108, 2039, 312, 0},
      {"sm_86", 86, 99 * KiB, 100 * KiB, 1536, 16, 84, 768, 155, 0},
      {"sm_87", 87, 163 * KiB, 164 * KiB, 1536, 16, 16, 204, 42, 0},
      {"sm_89", 89, 99 * KiB, 100 * KiB, 1536, 24, 142, 960, 362, 13},
      {"sm_90a", 90, 227 * KiB, 228 * KiB, 2048, 32, 132, 4800, 660, 0},
      {"sm_100a", 100, 227 * KiB, 228 * KiB, 2048, 32, 148, 8000, 1200, 0},
      {"sm_120a", 120, 99 * KiB, 100 * KiB, 1536, 24, 170, 1792, 419, 25},
  };
  return list;
}

const CudaArchitecture *ingot::codegen::findCudaArchitecture(llvm::StringRef name) {
  auto list = cudaArchitectures();
  const auto *found =
      llvm::find_if(list, [&](const CudaArchitecture &entry) { return entry.name == name; });
  return found == list.end() ? nullptr : found;
}
