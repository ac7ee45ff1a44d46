// SPDX-License-Identifier: Apache-2.0
// The only list of architectures and parts. Limits are those of the CUDA programming guide; bits of
// sums those of the published bit-exact models of tensor cores, as
// runtime/simulator/TensorMath.cpp. Rates, multiprocessors and sizes of L2 are NVIDIA's: data
// sheets of A100 (80 GB, SXM), RTX A6000, Jetson AGX Orin (64 GB), RTX 6000 Ada, H200 and H100
// (SXM), B200, and the RTX Blackwell whitepaper (RTX 5090, sums in f32), halved where they count
// sparsity. What is no data sheet's says so.
#include "codegen/cuda/CudaArchitecture.h"

#include "llvm/ADT/STLExtras.h"

using namespace ingot::codegen;

namespace {

constexpr int64_t KiB = 1024, MiB = 1024 * KiB;

/// A guess where no measurement is at hand: what copies reach of the bandwidth.
constexpr double kCopyShare = 0.88;
/// A guess: mma.sync is all that these architectures have.
constexpr double kAllOfIt = 1;
/// Published: mma.sync tops out at 62 to 75 % of the rate that Hopper has with wgmma (the authors
/// of Machete, vLLM pull request 7174).
constexpr double kHopperMmaShare = 0.667;
/// A guess: nothing is published of mma.sync where tcgen05 is the way to the rate.
constexpr double kBlackwellMmaShare = 0.53;

constexpr CudaPart kSm80[] = {
    {"a100", 108, 40 * MiB, 2039, kCopyShare * 2039, 312, 0, 624, kAllOfIt}};
constexpr CudaPart kSm86[] = {
    {"a6000", 84, 6 * MiB, 768, kCopyShare * 768, 154.8, 0, 309.7, kAllOfIt}};
constexpr CudaPart kSm87[] = {
    {"orin", 16, 4 * MiB, 204.8, kCopyShare * 204.8, 42.5, 0, 85, kAllOfIt}};
constexpr CudaPart kSm89[] = {
    {"ada6000", 142, 96 * MiB, 960, kCopyShare * 960, 364.2, 728.5, 728.5, kAllOfIt}};
/// Copies reach about 4.3 TB/s on an H200 and 3.0 TB/s on an H100: what users report of them, here
/// unmeasured.
constexpr CudaPart kSm90[] = {
    {"h200", 132, 50 * MiB, 4800, 4300, 989.4, 1978.9, 1978.9, kHopperMmaShare},
    {"h100", 132, 50 * MiB, 3350, 3000, 989.4, 1978.9, 1978.9, kHopperMmaShare}};
constexpr CudaPart kSm100[] = {
    {"b200", 148, 126 * MiB, 8000, kCopyShare * 8000, 2250, 4500, 4500, kBlackwellMmaShare}};
constexpr CudaPart kSm120[] = {
    {"rtx5090", 170, 96 * MiB, 1792, kCopyShare * 1792, 209.5, 419, 838, kAllOfIt}};

} // namespace

double CudaPart::peak(ProductType type) const {
  double teraflops = type == ProductType::Float8     ? float8
                     : type == ProductType::Integers ? integers
                                                     : 0;
  return (teraflops > 0 ? teraflops : halves) * 1e12;
}

llvm::ArrayRef<CudaArchitecture> ingot::codegen::cudaArchitectures() {
  static constexpr CudaArchitecture list[] = {
      {"sm_80", 80, 163 * KiB, 164 * KiB, 2048, 32, 0, kSm80},
      {"sm_86", 86, 99 * KiB, 100 * KiB, 1536, 16, 0, kSm86},
      {"sm_87", 87, 163 * KiB, 164 * KiB, 1536, 16, 0, kSm87},
      {"sm_89", 89, 99 * KiB, 100 * KiB, 1536, 24, 13, kSm89},
      {"sm_90a", 90, 227 * KiB, 228 * KiB, 2048, 32, 0, kSm90},
      {"sm_100a", 100, 227 * KiB, 228 * KiB, 2048, 32, 0, kSm100},
      {"sm_120a", 120, 99 * KiB, 100 * KiB, 1536, 24, 25, kSm120},
  };
  return list;
}

const CudaArchitecture *ingot::codegen::findCudaArchitecture(llvm::StringRef name) {
  auto list = cudaArchitectures();
  const auto *found =
      llvm::find_if(list, [&](const CudaArchitecture &entry) { return entry.name == name; });
  return found == list.end() ? nullptr : found;
}
