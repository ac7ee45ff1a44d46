// SPDX-License-Identifier: Apache-2.0
// The simulated device as the tests use it: through the driver's functions only.
#pragma once

#include "runtime/devices/cuda/DriverApi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace ingot::cuda;

extern "C" {
#define INGOT_TEST_DECLARE(name, ...) DriverResult name(__VA_ARGS__);
INGOT_DRIVER_FUNCTIONS(INGOT_TEST_DECLARE)
INGOT_SIMULATOR_FUNCTIONS(INGOT_TEST_DECLARE)
#undef INGOT_TEST_DECLARE
}

namespace ingot::test {

/// What failed last, for messages.
std::string lastError();
/// The reports of the checker so far.
std::string findings();

/// An array in device memory.
template <class T> class DeviceArray {
public:
  explicit DeviceArray(const std::vector<T> &content) : count(content.size()) {
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes()), DriverResult::Success) << lastError();
    write(content);
  }
  explicit DeviceArray(size_t count) : count(count) {
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes()), DriverResult::Success) << lastError();
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { EXPECT_EQ(cuMemFree_v2(address), DriverResult::Success); }

  void write(const std::vector<T> &content) {
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(address, content.data(), content.size() * sizeof(T), nullptr),
              DriverResult::Success)
        << lastError();
  }
  std::vector<T> read() const {
    std::vector<T> content(count);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(content.data(), address, bytes(), nullptr),
              DriverResult::Success)
        << lastError();
    return content;
  }
  size_t bytes() const { return count * sizeof(T); }

  DevicePointer address = 0;
  size_t count;
};

/// Where and how a test runs its kernel.
struct Shape {
  uint32_t grid = 1, block = 32, dynamicShared = 0;
  uint32_t cluster = 1;
};

/// A device for the length of a test.
class Simulator : public testing::Test {
protected:
  void SetUp() override { configure({}); }
  void TearDown() override { closeDevice(); }

  /// Opens the device anew with these options; 0 stands for the default.
  void configure(SimulatorOptions options);
  void closeDevice();
  /// The kernel of a PTX text; fails the test where the text is refused.
  Kernel load(const std::string &ptx, const char *name = "test");
  /// The message with which a PTX text is refused.
  std::string refusal(const std::string &ptx);
  DriverResult launch(Kernel kernel, const Shape &run, std::vector<void *> arguments);
  /// A kernel `test` around a body: parameters p0.. of .u64, registers of every kind declared.
  static std::string kernel(const std::string &body, int parameters,
                            const std::string &target = "sm_80");

  std::vector<Library> libraries;
  bool open = false;
};

/// Text of a file under tests/unit/simulator.
std::string inputFile(const std::string &name);

} // namespace ingot::test
