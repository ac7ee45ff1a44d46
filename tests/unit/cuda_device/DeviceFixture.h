// SPDX-License-Identifier: Apache-2.0
// A device on the simulator with one kernel and two buffers.
#pragma once

#include "runtime/devices/cuda/CudaDevice.h"

#include <gtest/gtest.h>
#include <numeric>

namespace ingot::runtime {

/// out[i] = 2 * in[i] for i < T; the other dims are not used.
inline constexpr const char *kPtx = R"(.version 8.0
.target sm_80
.address_size 64

.visible .entry twice(
  .param .u64 twice_in,
  .param .u64 twice_out,
  .param .u64 twice_T,
  .param .u64 twice_S
)
{
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<9>;

  ld.param.u64 %rd1, [twice_in];
  ld.param.u64 %rd2, [twice_out];
  ld.param.u64 %rd3, [twice_T];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  setp.ge.s64 %p1, %rd4, %rd3;
  @%p1 bra $L_done;
  shl.b64 %rd5, %rd4, 2;
  add.s64 %rd6, %rd1, %rd5;
  add.s64 %rd7, %rd2, %rd5;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd7], %f2;
$L_done:
  ret;
}
)";

class CudaDeviceTest : public testing::Test {
protected:
  void SetUp() override { open({}); }

  /// Puts functions of a test in the place of the simulator's.
  virtual void plantFaults(Driver &) {}

  void open(CudaOptions options) {
    device.reset();
    if (options.simulate.empty())
      options.simulate = "sm_80";
    options.simulator.multiprocessors = 3;
    Result<std::unique_ptr<Driver>> driver = Driver::load(INGOT_SIMULATOR);
    ASSERT_TRUE(driver.ok()) << driver.status().toString();
    ASSERT_EQ((*driver)->ingotSimulatorReset(), ingot::cuda::DriverResult::Success);
    plantFaults(**driver);
    Result<std::unique_ptr<CudaDevice>> opened = CudaDevice::openOn(std::move(*driver), options);
    ASSERT_TRUE(opened.ok()) << opened.status().toString();
    device = std::move(*opened);
    std::string text = kPtx;
    Result<size_t> library =
        device->loadLibrary({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, "k");
    ASSERT_TRUE(library.ok()) << library.status().toString();
    Result<DeviceKernel> found = device->kernel(*library, "twice", {.block = {32, 1, 1}});
    ASSERT_TRUE(found.ok()) << found.status().toString();
    kernel = *found;
    for (void **buffer : {&in, &out}) {
      Result<void *> memory = device->allocate(kCount * sizeof(float));
      ASSERT_TRUE(memory.ok());
      *buffer = *memory;
    }
  }

  void launch(int64_t tokens, int64_t blocks = 4) {
    void *buffers[] = {in, out};
    int64_t scalars[] = {tokens, 1};
    device->launch({&kernel, buffers, scalars, {blocks, 1, 1}, "layer.0.twice"});
  }

  std::vector<float> output() {
    std::vector<float> values(kCount);
    Status status = device->read(values.data(), out, kCount * sizeof(float));
    EXPECT_TRUE(status.ok()) << status.toString();
    return values;
  }

  void writeInput(float first) {
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), first);
    device->write(in, values.data(), kCount * sizeof(float));
  }

  static constexpr size_t kCount = 100;
  std::unique_ptr<CudaDevice> device;
  DeviceKernel kernel;
  void *in = nullptr, *out = nullptr;
};

} // namespace ingot::runtime
