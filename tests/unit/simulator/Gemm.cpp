// SPDX-License-Identifier: Apache-2.0
// Inputs, launches and results of the two matrix products.
#include "tests/unit/simulator/Gemm.h"

#include <random>

namespace ingot::test {

namespace {

uint16_t bfloat(int value) {
  float exact = float(value);
  uint32_t bits;
  static_assert(sizeof bits == sizeof exact);
  __builtin_memcpy(&bits, &exact, sizeof bits);
  return uint16_t(bits >> 16);
}

float value(uint16_t bfloat) {
  uint32_t bits = uint32_t(bfloat) << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

} // namespace

std::string replaced(std::string text, const std::string &from, const std::string &to, int which) {
  int seen = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    if (which < 0 || seen++ == which)
      text.replace(at, from.size(), to);
    else
      at += from.size();
  }
  return text;
}

void GemmTest::makeInputs(const Problem &problem) {
  std::mt19937 random(1);
  a.resize(size_t(problem.m) * problem.k);
  b.resize(size_t(problem.n) * problem.k);
  for (uint16_t &element : a)
    element = bfloat(int(random() % 17) - 8);
  for (uint16_t &element : b)
    element = bfloat(int(random() % 17) - 8);
}

int GemmTest::compare(const std::vector<float> &result, const Problem &problem) const {
  int wrong = 0;
  for (int row = 0; row < problem.m; ++row)
    for (int column = 0; column < problem.n; ++column) {
      float expected = 0;
      for (int k = 0; k < problem.k; ++k)
        expected +=
            value(a[size_t(row) * problem.k + k]) * value(b[size_t(column) * problem.k + k]);
      wrong += result[size_t(row) * problem.n + column] != expected;
    }
  return wrong;
}

int GemmTest::runAmpere(const std::string &ptx, SimulatorOptions options, Problem problem) {
  options.architecture = "sm_80";
  configure(options);
  Kernel kernel = load(ptx, "gemm");
  makeInputs(problem);
  DeviceArray<uint8_t> shortA(a.size() * 2 - size_t(problem.wrongBytes));
  std::vector<uint8_t> bytes(shortA.count);
  __builtin_memcpy(bytes.data(), a.data(), bytes.size());
  shortA.write(bytes);
  DeviceArray<uint16_t> deviceB(b);
  DeviceArray<float> c(size_t(problem.m) * problem.n);
  LaunchConfig config{};
  config.gridDimX = uint32_t(problem.n / 64);
  config.gridDimY = uint32_t(problem.m / 64);
  config.blockDimX = 128;
  config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  void *arguments[] = {&shortA.address, &deviceB.address, &c.address,
                       &problem.m,      &problem.n,       &problem.k};
  if (cuLaunchKernelEx(&config, reinterpret_cast<Function>(kernel), arguments, nullptr) !=
      DriverResult::Success)
    return -1;
  return compare(c.read(), problem);
}

int GemmTest::runHopper(const std::string &ptx, SimulatorOptions options, Problem problem) {
  options.architecture = "sm_90a";
  configure(options);
  Kernel kernel = load(ptx, "hgemm");
  makeInputs(problem);
  DeviceArray<uint16_t> deviceA(a), deviceB(b);
  DeviceArray<float> c(size_t(problem.m) * problem.n);
  TensorMap mapA, mapB;
  const uint32_t box[] = {64, 64}, ones[] = {1, 1};
  const uint64_t stride[] = {uint64_t(problem.k) * 2};
  auto encode = [&](TensorMap &map, DevicePointer address, int rows, TensorMapSwizzle swizzle) {
    const uint64_t sizes[] = {uint64_t(problem.k), uint64_t(rows)};
    EXPECT_EQ(cuTensorMapEncodeTiled(&map, TensorMapDataType::Bfloat16, 2,
                                     reinterpret_cast<void *>(address), sizes, stride, box, ones,
                                     TensorMapInterleave::None, swizzle,
                                     TensorMapPromotion::L2Bytes128, TensorMapFill::Zero),
              DriverResult::Success)
        << lastError();
  };
  encode(mapA, deviceA.address, problem.m, TensorMapSwizzle::Bytes128);
  encode(mapB, deviceB.address, problem.n, problem.swizzle);
  LaunchConfig config{};
  config.gridDimX = uint32_t(problem.n / 64);
  config.gridDimY = uint32_t(problem.m / 64);
  config.blockDimX = 160;
  config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.dynamicSharedBytes = 32768;
  void *arguments[] = {&mapA, &mapB, &c.address, &problem.n, &problem.k};
  if (cuLaunchKernelEx(&config, reinterpret_cast<Function>(kernel), arguments, nullptr) !=
      DriverResult::Success)
    return -1;
  return compare(c.read(), problem);
}

} // namespace ingot::test
