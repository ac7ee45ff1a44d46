// SPDX-License-Identifier: Apache-2.0
// What the simulated GPU of the conformance tests must notice beyond wrong values.
#include "tests/conformance/SimulatedGpu.h"

#include <gtest/gtest-spi.h>

using namespace ingot;
using namespace ingot::conformance;

/// Copies 32 words from its first buffer to its second; `early` stands before the wait.
static std::string copyKernel(const std::string &early, const std::string &late) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 p_in, .param .u64 p_out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [p_in];
  ld.param.u64 %rd2, [p_out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
)" + early +
         "  griddepcontrol.wait;\n" + late + "  st.global.u32 [%rd5], %r2;\n  ret;\n}\n";
}

/// Runs `ptx` on the simulated sm_90a; `weights` as of SimulatedLaunch.
static void runCopy(const std::string &ptx, const std::set<size_t> &weights) {
  auto gpu = SimulatedGpu::open("sm_90a", {});
  ASSERT_TRUE(gpu && gpu->load("copy", ptx));
  SimulatedLaunch launch;
  launch.symbol = "copy";
  launch.shape.block[0] = 32;
  launch.weights = weights;
  std::vector<KernelBuffer> buffers;
  buffers.emplace_back(128, uint8_t(7));
  buffers.emplace_back(128);
  if (gpu->run(launch, buffers))
    EXPECT_EQ(buffers[1].data()[127], 7);
}

static const std::string kLoad = "  ld.global.u32 %r2, [%rd4];\n";

TEST(SimulatedGpu, WeightsMayBeReadBeforeTheWait) {
  runCopy(copyKernel("", kLoad), {});
  runCopy(copyKernel(kLoad, ""), {0});
}

TEST(SimulatedGpu, ActivationsMayNot) {
  EXPECT_NONFATAL_FAILURE(runCopy(copyKernel(kLoad, ""), {}), "before griddepcontrol.wait");
}
