// SPDX-License-Identifier: Apache-2.0
// That the emulated CPU runs what kernels may do, and sees what they may not.
#include "tests/conformance/EmulatedDevice.h"
#include "tests/conformance/Targets.h"

#include "runtime/core/MappedFile.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr uint64_t kBytes = 128;

/// Runs a kernel of FaultyKernels.cpp over a buffer whose size is its scalar; what the device says
/// of it, and what it leaves in the buffer and the byte behind it.
std::string runKernel(const std::string &symbol, std::vector<uint8_t> &left) {
  auto library = runtime::MappedFile::open(INGOT_FAULTY_KERNELS);
  auto opened = EmulatedDevice::open();
  if (!library.ok() || !opened.ok())
    return "cannot start";
  EmulatedDevice &device = **opened;
  auto loaded = device.loadLibrary(library->bytes(), "faulty kernels");
  auto memory = device.allocate(kBytes + 1);
  if (!loaded.ok() || !memory.ok() || !device.start(2, 0).ok())
    return "cannot start";
  runtime::KernelShape shape;
  shape.spmd = true;
  auto kernel = device.kernel(*loaded, symbol, shape);
  void *buffers[] = {*memory};
  int64_t scalars[] = {int64_t(kBytes)};
  device.launch({&*kernel, buffers, scalars, {1, 1, 1}});
  left.resize(kBytes + 1);
  return device.read(left.data(), *memory, left.size()).toString();
}

class EmulatedDeviceTest : public testing::Test {
public:
  void TestBody() override {
    std::vector<uint8_t> left;
    EXPECT_EQ(runKernel("meets", left), "ok");
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(reinterpret_cast<const float *>(left.data())[i], 2 * 128) << i;
    EXPECT_EQ(left[kBytes], 0);
    EXPECT_EQ(runKernel("writesBeyond", left), "ok");
    EXPECT_EQ(left[kBytes], 1);
    for (auto [symbol, wanted] : {std::pair("readsElsewhere", "is no memory of the kernel"),
                                  {"readsNull", "access to 0x0, which is no memory"},
                                  {"lacksInstruction", "that this CPU does not have"},
                                  {"staysAway", "another waits at a barrier"}})
      EXPECT_NE(runKernel(symbol, left).find(wanted), std::string::npos) << symbol;
  }
};

} // namespace

void conformance::registerEmulatedDeviceTests() {
  testing::RegisterTest("EmulatedDevice", "SeesWhatKernelsMayNotDo", nullptr, nullptr, __FILE__,
                        __LINE__, []() -> testing::Test * { return new EmulatedDeviceTest(); });
}
