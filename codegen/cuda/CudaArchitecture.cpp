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
/// Fitted to published timings of an A100 (docs/results/published-kernels.md): mma.sync is all that
/// these architectures have. For others a guess.
constexpr double kAmpereMmaShare = 0.95;
/// Likewise, to those of an L40S, which its power holds below its data sheet.
constexpr double kAdaMmaShare = 0.7;
/// Published: mma.sync tops out at 62 to 75 % of the rate that Hopper has with wgmma (the authors
/// of Machete, vLLM pull request 7174).
constexpr double kHopperMmaShare = 0.667;
/// A guess: nothing is published of mma.sync where tcgen05 is the way to the rate.
constexpr double kBlackwellMmaShare = 0.53;
/// What wgmma reaches where there is none.
constexpr ProductRates kNone = {0, 0, 0};

constexpr CudaPart kSm80[] = {
    {"a100", 108, 40 * MiB, 1.41, 2039, kCopyShare * 2039, {312, 0, 624}, kNone, kAmpereMmaShare}};
constexpr CudaPart kSm86[] = {
    {"a6000", 84, 6 * MiB, 1.8, 768, kCopyShare * 768, {154.8, 0, 309.7}, kNone, kAmpereMmaShare}};
constexpr CudaPart kSm87[] = {
    {"orin", 16, 4 * MiB, 1.3, 204.8, kCopyShare * 204.8, {42.5, 0, 85}, kNone, kAmpereMmaShare}};
constexpr CudaPart kSm89[] = {{"ada6000",
                               142,
                               96 * MiB,
                               2.2,
                               960,
                               kCopyShare * 960,
                               {364.2, 728.5, 728.5},
                               kNone,
                               kAdaMmaShare}};
/// What users report of copies (GB/s), of cuBLAS in 16 bits and of the best FP8 kernels; here
/// unmeasured. Both keep 1.755 GHz under load.
constexpr CudaPart kSm90[] = {{"h200",
                               132,
                               50 * MiB,
                               1.755,
                               4800,
                               4300,
                               {989.4, 1978.9, 1978.9},
                               {790, 1580, 1580},
                               kHopperMmaShare},
                              {"h100",
                               132,
                               50 * MiB,
                               1.755,
                               3350,
                               3000,
                               {989.4, 1978.9, 1978.9},
                               {750, 1500, 1500},
                               kHopperMmaShare}};
constexpr CudaPart kSm100[] = {{"b200",
                                148,
                                126 * MiB,
                                1.85,
                                8000,
                                kCopyShare * 8000,
                                {2250, 4500, 4500},
                                kNone,
                                kBlackwellMmaShare}};
constexpr CudaPart kSm120[] = {{"rtx5090",
                                170,
                                96 * MiB,
                                2.41,
                                1792,
                                kCopyShare * 1792,
                                {209.5, 419, 838},
                                kNone,
                                kAmpereMmaShare}};

double of(const ProductRates &rates, ProductType type) {
  double teraflops = type == ProductType::Float8     ? rates.float8
                     : type == ProductType::Integers ? rates.integers
                                                     : 0;
  return (teraflops > 0 ? teraflops : rates.halves) * 1e12;
}

} // namespace

double CudaPart::peak(ProductType type) const { return of(sheet, type); }

double CudaPart::rate(ProductType type, MmaFamily family) const {
  bool hasWgmma = reached.halves > 0;
  return family == MmaFamily::MmaSync || !hasWgmma ? of(sheet, type) * mmaShare : of(reached, type);
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
