// SPDX-License-Identifier: Apache-2.0
// Two matrix products written in CUDA and compiled by NVRTC, and their launches: `kernels/gemm.ptx`
// (cp.async, ldmatrix, mma.sync) and `kernels/hopper_gemm.ptx` (tensor copies, mbarrier, wgmma).
#pragma once

#include "tests/unit/simulator/Simulator.h"

namespace ingot::test {

/// C[M, N] = A[M, K] * B[N, K]^T in bf16 with f32 sums, of small integers: every sum is exact.
class GemmTest : public Simulator {
protected:
  struct Problem {
    int m = 64, n = 64, k = 128;
    TensorMapSwizzle swizzle = TensorMapSwizzle::Bytes128;
    int wrongBytes = 0; // by which the allocation of A is too small
  };

  /// Runs a PTX text. The number of wrong results is -1 where the launch fails.
  int runAmpere(const std::string &ptx, SimulatorOptions options, Problem problem);
  int runHopper(const std::string &ptx, SimulatorOptions options, Problem problem);

private:
  int compare(const std::vector<float> &result, const Problem &problem) const;
  void makeInputs(const Problem &problem);

  std::vector<uint16_t> a, b;
};

/// The text with the n-th occurrence of `from` replaced, all of them where n is negative.
std::string replaced(std::string text, const std::string &from, const std::string &to,
                     int which = -1);

} // namespace ingot::test
