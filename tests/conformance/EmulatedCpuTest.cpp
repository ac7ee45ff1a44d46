// SPDX-License-Identifier: Apache-2.0
// That the emulated CPU runs what kernels may do, and sees what they may not.
#include "tests/conformance/EmulatedCpu.h"
#include "tests/conformance/Targets.h"

#include "llvm/ADT/ScopeExit.h"
#include <fcntl.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr int64_t kThreads = 2;

/// Runs a kernel of FaultyKernels.cpp over `buffer`, whose size is its scalar.
bool runKernel(const std::string &symbol, KernelBuffer &buffer) {
  int library = open(INGOT_FAULTY_KERNELS, O_RDONLY);
  llvm::scope_exit close([&] { ::close(library); });
  auto cpu = EmulatedCpu::open(library);
  if (!cpu)
    return false;
  EmulatedCpu::Launch launch;
  launch.symbol = symbol;
  launch.buffers = {buffer.data()};
  launch.scalars = {int64_t(buffer.size())};
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    IngotLaunch call = {};
    call.thread = thread;
    call.threads = kThreads;
    launch.threads.push_back({call});
  }
  return cpu->run(launch, &buffer);
}

class EmulatedCpuTest : public testing::Test {
public:
  void TestBody() override {
    KernelBuffer buffer(128);
    EXPECT_TRUE(runKernel("meets", buffer));
    EXPECT_TRUE(buffer.intact());
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(reinterpret_cast<const float *>(buffer.data())[i], 2 * 128) << i;
    EXPECT_TRUE(runKernel("writesBeyond", buffer));
    EXPECT_FALSE(buffer.intact());
    EXPECT_NONFATAL_FAILURE(runKernel("readsElsewhere", buffer), "is no memory of the kernel");
    EXPECT_NONFATAL_FAILURE(runKernel("readsNull", buffer), "access to 0x0, which is no memory");
    EXPECT_NONFATAL_FAILURE(runKernel("lacksInstruction", buffer), "that this CPU does not have");
    EXPECT_NONFATAL_FAILURE(runKernel("staysAway", buffer), "another waits at a barrier");
  }
};

} // namespace

void conformance::registerEmulatedCpuTests() {
  testing::RegisterTest("EmulatedCpu", "SeesWhatKernelsMayNotDo", nullptr, nullptr, __FILE__,
                        __LINE__, []() -> testing::Test * { return new EmulatedCpuTest(); });
}
