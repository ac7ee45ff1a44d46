// SPDX-License-Identifier: Apache-2.0
// What the guarded devices must notice beyond wrong values.
#include "tests/conformance/GuardedDevice.h"

#include "tests/conformance/EngineRun.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;
using runtime::Result;

namespace {

constexpr uint64_t kBytes = 128;

/// Copies 32 words from its first buffer to its second; `early` stands before the wait.
std::string copyKernel(const std::string &early, const std::string &late) {
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

const std::string kLoad = "  ld.global.u32 %r2, [%rd4];\n";

/// Runs `ptx` on the simulated sm_90a, from a weight or an activation of sevens; what was found.
std::string runCopy(const std::string &ptx, bool fromWeight) {
  auto simulator = openSimulator("sm_90a", {});
  if (!simulator.ok())
    return simulator.status().toString();
  GuardedDevice device(std::move(*simulator));
  std::vector<uint8_t> sevens(kBytes, 7);
  auto weight = device.adopt(sevens);
  auto input = device.allocate(kBytes), output = device.allocate(kBytes);
  auto library =
      device.loadLibrary({reinterpret_cast<const uint8_t *>(ptx.data()), ptx.size()}, "copy");
  runtime::KernelShape shape;
  shape.block[0] = 32;
  auto kernel = device.kernel(*library, "copy", shape);
  if (!kernel.ok() ||
      !device.place({{"weight"}, {"input", *input, kBytes}, {"output", *output, kBytes}}).ok() ||
      !device.writeBeforeLaunches().ok())
    return "cannot start";
  device.write(*input, sevens.data(), kBytes);
  device.expect({size_t(fromWeight ? 0 : 1), 2});
  void *buffers[] = {fromWeight ? *weight : *input, *output};
  device.launch({&*kernel, buffers, {}, {1, 1, 1}});
  std::string status = device.check().toString(), found = device.findings();
  if (found.empty())
    EXPECT_EQ(*device.content(2), sevens);
  return status == "ok" ? found : status;
}

/// Runs `kernel` on the host, over a buffer whose size is its scalar; what was found.
std::string runOnHost(GuardedDevice &device, runtime::DeviceKernel kernel, std::string name) {
  auto memory = device.allocate(kBytes);
  if (!device.start(kThreads, kBytes).ok() || !device.place({{"buffer", *memory, kBytes}}).ok())
    return "cannot start";
  kernel.name = std::move(name);
  device.expect({0});
  int64_t scalars[] = {int64_t(kBytes)};
  device.launch({&kernel, {&*memory, 1}, scalars, {1, 1, 1}});
  return device.check().ok() ? device.findings() : "fails";
}

/// Runs a kernel of FaultyKernels.cpp, which is no library of an engine.
std::string runFaulty(const std::string &symbol) {
  void *library = dlopen(INGOT_FAULTY_KERNELS, RTLD_NOW);
  void *entry = library ? dlsym(library, symbol.c_str()) : nullptr;
  GuardedDevice device(std::make_unique<GuardedHost>(kThreads));
  return entry ? runOnHost(device, {entry, {}}, symbol) : "no kernel";
}

} // namespace

TEST(GuardedDevice, WeightsMayBeReadBeforeTheWait) {
  EXPECT_EQ(runCopy(copyKernel("", kLoad), false), "");
  EXPECT_EQ(runCopy(copyKernel(kLoad, ""), true), "");
}

TEST(GuardedDevice, ActivationsMayNot) {
  EXPECT_NE(runCopy(copyKernel(kLoad, ""), false).find("before griddepcontrol.wait"),
            std::string::npos);
}

TEST(GuardedDevice, SeesWritesOutsideOfBuffers) {
  EXPECT_EQ(runFaulty("writesInside"), "");
  EXPECT_EQ(runFaulty("writesBeyond"), "writesBeyond writes behind buffer buffer\n");
  EXPECT_EQ(runFaulty("writesBefore"), "writesBefore writes before buffer buffer\n");
  EXPECT_EQ(runFaulty("writesBeyondScratch"), "a kernel writes beyond its scratch memory\n");
}

TEST(GuardedDevice, KernelsThatAreLeftOutMustNotRun) {
  GuardedDevice device(std::make_unique<GuardedHost>(kThreads));
  auto library = device.loadLibrary({}, kLeftOut);
  ASSERT_TRUE(library.ok());
  auto kernel = device.kernel(*library, "k0", {});
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(runOnHost(device, *kernel, "k0"), "k0 is launched, and was left out\n");
}
