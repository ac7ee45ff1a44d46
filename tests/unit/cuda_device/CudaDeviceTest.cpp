// SPDX-License-Identifier: Apache-2.0
// The CUDA device on the simulator.
#include "runtime/devices/OpenDevice.h"
#include "runtime/devices/cuda/SimulatorCpu.h"
#include "tests/unit/cuda_device/DeviceFixture.h"

using namespace ingot::runtime;

TEST_F(CudaDeviceTest, StatesWhatItIs) {
  EXPECT_EQ(device->architecture(), "sm_80");
  EXPECT_EQ(device->dimension("sms"), 3);
  EXPECT_EQ(device->dimension("other"), -1);
  EXPECT_TRUE(device->loads(CodeKind::Ptx));
  EXPECT_FALSE(device->loads(CodeKind::HostSharedObject));
  EXPECT_GT(device->driverVersion(), 0);
}

TEST_F(CudaDeviceTest, LaunchesInOrderOfTheCalls) {
  writeInput(1);
  launch(kCount);
  writeInput(1000);
  std::vector<float> values = output();
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(values[i], 2 * float(i + 1));
}

TEST_F(CudaDeviceTest, AnEmptyGridRunsNothing) {
  writeInput(1);
  launch(kCount, 0);
  EXPECT_EQ(output(), std::vector<float>(kCount));
}

TEST_F(CudaDeviceTest, ReplaysARecordingOnNewContent) {
  EXPECT_FALSE(device->replay(7));
  writeInput(1);
  device->beginRecording(7);
  launch(50);
  device->copy(in, out, kCount * sizeof(float));
  device->endRecording();
  EXPECT_EQ(output()[49], 100);
  writeInput(10);
  EXPECT_TRUE(device->replay(7));
  EXPECT_EQ(output()[49], 2 * 59);
  launch(50); // the copy was part of the recording
  EXPECT_EQ(output()[49], 4 * 59);
  EXPECT_FALSE(device->replay(8));
}

TEST_F(CudaDeviceTest, CopiesLargerThanTheRing) {
  std::vector<uint8_t> bytes((uint64_t{37} << 20) + 13), back(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 2654435761u >> 13);
  Result<void *> memory = device->allocate(bytes.size());
  ASSERT_TRUE(memory.ok());
  device->write(*memory, bytes.data(), bytes.size());
  ASSERT_TRUE(device->read(back.data(), *memory, back.size()).ok());
  EXPECT_TRUE(bytes == back);
}

TEST_F(CudaDeviceTest, AdoptsEachRangeOnce) {
  std::vector<uint8_t> weights = {1, 2, 3, 4};
  Result<void *> first = device->adopt(weights), second = device->adopt(weights);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  std::vector<uint8_t> back(4);
  ASSERT_TRUE(device->read(back.data(), *first, 4).ok());
  EXPECT_EQ(back, weights);
}

TEST_F(CudaDeviceTest, AFailedLaunchIsReportedByTheNextRead) {
  launch(int64_t{1} << 40, 1000); // reads beyond both buffers
  float value = 0;
  Status status = device->read(&value, out, sizeof value);
  EXPECT_EQ(status.code(), "INGOT-E6506") << status.toString();
  EXPECT_EQ(device->read(&value, out, sizeof value).code(), "INGOT-E6506");
}

TEST_F(CudaDeviceTest, WithAWaitAfterEachTheFailureNamesTheLaunch) {
  open({.diagnosis = {.syncEach = true}});
  launch(int64_t{1} << 40, 1000);
  launch(1);
  float value = 0;
  std::string message(device->read(&value, out, sizeof value).message());
  EXPECT_NE(message.find("launching kernel 'twice' of op 'layer.0.twice', grid 1000x1x1, block "
                         "32x1x1, 0 bytes of dynamic shared memory: CUDA_ERROR_"),
            std::string::npos)
      << message;
}

TEST_F(CudaDeviceTest, RefusedLaunchesAreNamed) {
  launch(1, int64_t{1} << 40);
  float value = 0;
  std::string message(device->read(&value, out, sizeof value).message());
  EXPECT_NE(message.find("kernel 'twice' of op 'layer.0.twice', grid 1099511627776x1x1"),
            std::string::npos)
      << message;
}

TEST_F(CudaDeviceTest, RecordsNothingWhenToldSo) {
  for (LaunchDiagnosis diagnosis :
       {LaunchDiagnosis{.noGraphs = true}, LaunchDiagnosis{.syncEach = true}}) {
    open({.diagnosis = diagnosis});
    writeInput(1);
    device->beginRecording(7);
    launch(kCount);
    device->endRecording();
    EXPECT_EQ(output()[49], 100);
    EXPECT_FALSE(device->replay(7));
  }
}

TEST_F(CudaDeviceTest, KernelsOverlapUnlessToldNotTo) {
  // The kernel never waits for the one before it, which the simulator finds over such an edge only.
  for (bool recorded : {false, true})
    for (bool apart : {false, true}) {
      open({.simulate = "sm_90a",
            .simulator = {.checks = ingot::cuda::SimulatorChecks::Full},
            .diagnosis = {.noDependentLaunch = apart}});
      if (recorded)
        device->beginRecording(7);
      writeInput(1);
      launch(kCount);
      launch(kCount);
      if (recorded)
        device->endRecording();
      output();
      EXPECT_EQ(device->findings().find("over a programmatic edge") == std::string::npos, apart)
          << (recorded ? "recorded: " : "launched: ") << device->findings();
    }
}

TEST(OpenDevice, ADiagnosisOfTheHostIsAnError) {
  DeviceRequest request;
  request.diagnosis.syncEach = true;
  const std::string_view host[] = {"x86-64"};
  Result<std::unique_ptr<Device>> device = openDevice(request, host);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), "INGOT-E6505") << device.status().toString();
  request.diagnosis = {};
  EXPECT_TRUE(openDevice(request, host).ok());
}

TEST(OpenDevice, TheHostSaysWhyItIsNoGpu) {
  // No GPU is of an architecture that does not exist.
  const std::string_view both[] = {"sm_9999", "x86-64"}, host[] = {"x86-64"};
  Result<std::unique_ptr<Device>> device = openDevice({}, both);
  ASSERT_TRUE(device.ok());
  EXPECT_NE((*device)->description().find("not on a GPU: "), std::string::npos);
  device = openDevice({}, host);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->description().find("GPU"), std::string::npos);
}

TEST_F(CudaDeviceTest, NamesWhatCannotBeLoaded) {
  std::string text = "this is no PTX";
  Result<size_t> library =
      device->loadLibrary({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, "broken");
  EXPECT_EQ(library.status().code(), "INGOT-E5021");
  EXPECT_NE(library.status().message().find("'broken'"), std::string_view::npos);
  EXPECT_EQ(device->kernel(0, "absent", {}).status().code(), "INGOT-E5021");
}

TEST(CudaDevice, RefusesAnUnknownArchitecture) {
  CudaOptions options;
  options.simulate = "sm_1";
  EXPECT_EQ(CudaDevice::open(options).status().code(), "INGOT-E6502");
}

TEST_F(CudaDeviceTest, TimesWhatRunsInBetween) {
  ASSERT_TRUE(device->startTimer().ok());
  launch(kCount);
  Result<double> one = device->stopTimer();
  ASSERT_TRUE(one.ok()) << one.status().toString();
  EXPECT_GT(*one, 0);
  ASSERT_TRUE(device->startTimer().ok());
  Result<double> none = device->stopTimer();
  ASSERT_TRUE(none.ok());
  EXPECT_GT(device->cacheBytes(), 0u);
}

TEST_F(CudaDeviceTest, ARecordingThatIsForgottenIsMadeAgain) {
  device->beginRecording(7);
  launch(kCount);
  device->endRecording();
  EXPECT_TRUE(device->replay(7));
  device->forget(7);
  EXPECT_FALSE(device->replay(7));
  device->forget(7);
  device->beginRecording(7);
  launch(kCount);
  device->endRecording();
  EXPECT_TRUE(device->replay(7));
}

TEST_F(CudaDeviceTest, TimersTellOfFailures) {
  launch(kCount, int64_t{1} << 40);
  EXPECT_FALSE(device->startTimer().ok());
  EXPECT_EQ(device->stopTimer().status().code(), "INGOT-E6504");
}

TEST(CudaDevice, RefusesToSimulateOnAnOldCpu) {
  Status status = checkSimulatorCpu({{"avx2", false}, {"fma", true}, {"bmi2", false}});
  EXPECT_EQ(status.code(), "INGOT-E6501");
  EXPECT_NE(status.message().find("lacks avx2, bmi2;"), std::string_view::npos)
      << status.toString();
  EXPECT_TRUE(checkSimulatorCpu({{"avx2", true}}).ok());
  // These tests run where the simulator does.
  EXPECT_TRUE(checkSimulatorCpu(simulatorFeatures()).ok());
}

namespace {

/// Block i of a cluster of two writes, at its place in the grid, the number that the other holds.
constexpr const char *kClusterPtx = R"(.version 8.0
.target sm_90
.address_size 64

.visible .entry exchange(.param .u64 p_out)
{
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  .shared .align 8 .b8 held[8];

  ld.param.u64 %rd1, [p_out];
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, held;
  mov.u32 %r3, %ctaid.x;
  griddepcontrol.wait;
  st.shared.u32 [%r2], %r3;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  xor.b32 %r4, %r1, 1;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  ld.shared::cluster.u32 %r6, [%r5];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r6;
  ret;
}
)";

} // namespace

TEST(CudaDevice, ClustersInLaunchesAndRecordings) {
  CudaOptions options;
  options.simulate = "sm_90a";
  Result<std::unique_ptr<CudaDevice>> opened = CudaDevice::open(options);
  ASSERT_TRUE(opened.ok()) << opened.status().toString();
  Device &device = **opened;
  std::string text = kClusterPtx;
  Result<size_t> library =
      device.loadLibrary({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, "k");
  ASSERT_TRUE(library.ok()) << library.status().toString();
  Result<DeviceKernel> kernel =
      device.kernel(*library, "exchange", {.block = {32, 1, 1}, .cluster = {2, 1, 1}});
  ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
  Result<void *> out = device.allocate(4 * sizeof(uint32_t));
  ASSERT_TRUE(out.ok());
  void *buffers[] = {*out};
  const std::vector<uint32_t> expected = {1, 0, 3, 2};
  for (bool recorded : {false, true}) {
    device.zero(*out, 4 * sizeof(uint32_t));
    if (recorded)
      device.beginRecording(1);
    device.launch({&*kernel, buffers, {}, {4, 1, 1}});
    if (recorded)
      device.endRecording();
    std::vector<uint32_t> found(4);
    Status status = device.read(found.data(), *out, 4 * sizeof(uint32_t));
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(found, expected) << (recorded ? "recorded" : "launched");
  }
  // A grid that is no multiple of the cluster is refused in a recording, too.
  device.beginRecording(2);
  device.launch({&*kernel, buffers, {}, {3, 1, 1}});
  device.endRecording();
  uint32_t word = 0;
  Status status = device.read(&word, *out, sizeof word);
  EXPECT_EQ(status.code(), "INGOT-E6504");
  EXPECT_NE(status.message().find("recording kernel 'exchange', grid 3x1x1, block 32x1x1, cluster "
                                  "2x1x1, 0 bytes"),
            std::string_view::npos)
      << status.toString();
}
