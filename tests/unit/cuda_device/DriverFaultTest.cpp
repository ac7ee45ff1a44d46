// SPDX-License-Identifier: Apache-2.0
// What the device does when the driver fails, and what exactly it asks of the driver.
#include "tests/unit/cuda_device/DeviceFixture.h"
#include "tests/unit/cuda_device/FaultyDriver.h"

#include <gmock/gmock.h>
#include <thread>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;
using cuda::DriverResult;
using testing::HasSubstr;

namespace {

/// Kernel node parameters and launches as the driver got them.
std::vector<cuda::GraphNodeParameters> nodes;
std::vector<cuda::GraphEdge> edges;
std::vector<std::pair<cuda::FunctionAttribute, int32_t>> attributes;
/// What a tensor map was made of.
struct Encoding {
  cuda::TensorMapDataType type;
  cuda::TensorMapSwizzle swizzle;
  uint64_t columns;
  uint32_t box;
};
std::vector<Encoding> encodings;
decltype(Driver::cuTensorMapEncodeTiled) encodeTiled;
decltype(Driver::cuGraphAddNode_v2) addNode;
decltype(Driver::cuKernelSetAttribute) setAttribute;

class DriverFaultTest : public CudaDeviceTest {
protected:
  void plantFaults(Driver &driver) override {
    makeFaulty(driver);
    nodes.clear();
    edges.clear();
    attributes.clear();
    encodings.clear();
    encodeTiled = driver.cuTensorMapEncodeTiled;
    driver.cuTensorMapEncodeTiled =
        [](cuda::TensorMap *map, cuda::TensorMapDataType type, uint32_t rank, void *address,
           const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
           const uint32_t *steps, cuda::TensorMapInterleave interleave,
           cuda::TensorMapSwizzle swizzle, cuda::TensorMapPromotion promotion,
           cuda::TensorMapFill fill) {
          encodings.push_back({type, swizzle, sizes[0], box[0]});
          return encodeTiled(map, type, rank, address, sizes, strides, box, steps, interleave,
                             swizzle, promotion, fill);
        };
    addNode = driver.cuGraphAddNode_v2;
    setAttribute = driver.cuKernelSetAttribute;
    driver.cuGraphAddNode_v2 = [](cuda::GraphNode *node, cuda::Graph graph,
                                  const cuda::GraphNode *dependencies, const cuda::GraphEdge *edge,
                                  size_t count, cuda::GraphNodeParameters *parameters) {
      nodes.push_back(*parameters);
      edges.insert(edges.end(), edge, edge + count);
      return addNode(node, graph, dependencies, edge, count, parameters);
    };
    driver.cuKernelSetAttribute = [](cuda::FunctionAttribute attribute, int32_t value,
                                     cuda::Kernel kernel, cuda::DeviceOrdinal device) {
      attributes.push_back({attribute, value});
      return setAttribute(attribute, value, kernel, device);
    };
  }

  Status readOne() {
    float value = 0;
    return device->read(&value, out, sizeof value);
  }

  Result<DeviceKernel> kernelOf(const KernelShape &shape) {
    return device->kernel(0, "twice", shape);
  }
};

constexpr DriverResult kFinal[] = {
    DriverResult::EccUncorrectable,
    DriverResult::NvlinkUncorrectable,
    DriverResult::Contained,
    DriverResult::IllegalAddress,
    DriverResult::LaunchTimeout,
    DriverResult::ContextIsDestroyed,
    DriverResult::Assert,
    DriverResult::HardwareStackError,
    DriverResult::IllegalInstruction,
    DriverResult::MisalignedAddress,
    DriverResult::InvalidAddressSpace,
    DriverResult::InvalidPc,
    DriverResult::LaunchFailed,
    DriverResult::TensorMemoryLeak,
    DriverResult::MpsClientTerminated,
    DriverResult::ExternalDevice,
};

} // namespace

TEST_F(DriverFaultTest, ALostContextIsAskedNothingMore) {
  for (DriverResult result : kFinal) {
    open({});
    device->beginRecording(7);
    launch(kCount);
    device->endRecording();
    device->startRead(out, 4);
    plant(Call::cuStreamSynchronize, result);
    Status first = readOne();
    EXPECT_EQ(first.code(), "INGOT-E6506") << first.toString();
    EXPECT_THAT(first.toString(), HasSubstr("cannot use the GPU any more"));
    int before = allCalls();
    launch(kCount);
    device->copy(in, out, 4);
    device->zero(out, 4);
    device->write(out, &before, 4);
    device->startRead(out, 4);
    EXPECT_TRUE(device->replay(7));
    EXPECT_FALSE(device->replay(8));
    device->beginRecording(8);
    launch(kCount);
    device->endRecording();
    const Status later[] = {readOne(),
                            device->finishRead(&before),
                            device->startTimer(),
                            device->stopTimer().status(),
                            device->allocate(4).status(),
                            device->loadLibrary({}, "k").status(),
                            kernelOf({}).status()};
    for (const Status &status : later)
      EXPECT_EQ(status.toString(), first.toString());
    EXPECT_EQ(allCalls(), before) << uint32_t(result);
  }
}

TEST_F(DriverFaultTest, AFinalErrorOfACallThatReportsEndsTheContextToo) {
  plant(Call::cuMemAlloc_v2, DriverResult::LaunchFailed);
  EXPECT_EQ(device->allocate(4).status().code(), "INGOT-E6506");
  EXPECT_EQ(readOne().code(), "INGOT-E6506");
  EXPECT_EQ(callsOf(Call::cuMemcpyDtoHAsync_v2), 0);
}

TEST_F(DriverFaultTest, OtherErrorsOfCallsThatReportStayTheirOwn) {
  plant(Call::cuMemAlloc_v2, DriverResult::OutOfMemory);
  EXPECT_EQ(device->allocate(4).status().code(), "INGOT-E6010");
  EXPECT_TRUE(readOne().ok());
}

TEST_F(DriverFaultTest, OtherFailuresOfLaunchesAreNoLostContext) {
  plant(Call::cuLaunchKernelEx, DriverResult::LaunchOutOfResources);
  launch(kCount);
  Status status = readOne();
  EXPECT_EQ(status.code(), "INGOT-E6504");
  EXPECT_THAT(status.toString(), HasSubstr("kernel 'twice' of op 'layer.0.twice'"));
}

TEST_F(DriverFaultTest, ALostContextIsLeftWithoutWaiting) {
  plant(Call::cuStreamSynchronize, DriverResult::IllegalAddress);
  EXPECT_FALSE(readOne().ok());
  for (Call call : {Call::cuGraphExecDestroy, Call::cuEventDestroy_v2, Call::cuMemFreeHost,
                    Call::cuLibraryUnload, Call::cuMemFree_v2, Call::cuStreamDestroy_v2})
    plant(call, DriverResult::IllegalAddress);
  int before = callsOf(Call::cuStreamSynchronize);
  device.reset();
  EXPECT_EQ(callsOf(Call::cuStreamSynchronize), before);
  EXPECT_EQ(callsOf(Call::cuDevicePrimaryCtxRelease_v2), 1);
}

TEST_F(DriverFaultTest, AnErrorFoundWhileWaitingNamesTheLaunchBefore) {
  open({.diagnosis = {.syncEach = true}});
  plant(Call::cuEventQuery, DriverResult::IllegalAddress, 1);
  launch(kCount, 3);
  launch(kCount, 4);
  launch(kCount, 5);
  EXPECT_THAT(readOne().toString(), HasSubstr("op 'layer.0.twice', grid 4x1x1"));
  EXPECT_EQ(callsOf(Call::cuLaunchKernelEx), 2);
}

TEST_F(DriverFaultTest, KernelsAreLoadedWithTheirSharedMemory) {
  attributes.clear();
  int loads = callsOf(Call::cuFuncLoad);
  ASSERT_TRUE(kernelOf({}).ok());
  ASSERT_TRUE(kernelOf({.sharedBytes = 1024}).ok());
  using cuda::FunctionAttribute;
  const std::vector<std::pair<FunctionAttribute, int32_t>> expected = {
      {FunctionAttribute::PreferredSharedMemoryCarveout, 100},
      {FunctionAttribute::MaxDynamicSharedBytes, 1024},
      {FunctionAttribute::PreferredSharedMemoryCarveout, 100}};
  EXPECT_EQ(attributes, expected);
  EXPECT_EQ(callsOf(Call::cuFuncLoad), loads + 2);
  EXPECT_EQ(kernelOf({.sharedBytes = uint64_t{1} << 32}).status().code(), "INGOT-E5021");
}

TEST_F(DriverFaultTest, CopiesInGraphsHaveAContextAndNoPitch) {
  device->beginRecording(1);
  launch(kCount);
  device->copy(in, out, 8);
  launch(kCount);
  device->endRecording();
  EXPECT_TRUE(readOne().ok());
  ASSERT_EQ(nodes.size(), 3u);
  const cuda::MemcpyNodeParameters &node = nodes[1].memcpy;
  EXPECT_NE(node.context, nullptr);
  EXPECT_EQ(node.flags, 0);
  EXPECT_EQ(node.copy.widthBytes, 8u);
  EXPECT_EQ(node.copy.height * node.copy.depth, 1u);
  EXPECT_EQ(node.copy.sourcePitch + node.copy.targetPitch, 0u);
}

TEST_F(DriverFaultTest, EdgesAreProgrammaticBetweenKernelsOnly) {
  for (bool apart : {false, true}) {
    open({.simulate = "sm_90a", .diagnosis = {.noDependentLaunch = apart}});
    device->beginRecording(1);
    launch(kCount);
    launch(kCount);
    device->copy(in, out, 8);
    launch(kCount);
    device->endRecording();
    ASSERT_EQ(edges.size(), 3u);
    for (size_t i = 0; i < edges.size(); ++i) {
      bool programmatic = i == 0 && !apart;
      EXPECT_EQ(edges[i].fromPort,
                programmatic ? cuda::GraphPort::Programmatic : cuda::GraphPort::Default);
      EXPECT_EQ(edges[i].type, programmatic ? cuda::GraphDependencyType::Programmatic
                                            : cuda::GraphDependencyType::Default);
    }
  }
}

TEST_F(DriverFaultTest, TheContextIsCurrentOnEveryThreadThatCalls) {
  int before = callsOf(Call::cuCtxSetCurrent);
  std::thread([&] { EXPECT_TRUE(kernelOf({}).ok()); }).join();
  std::thread([&] { launch(kCount); }).join();
  std::thread([&] { device->copy(in, out, 4); }).join();
  EXPECT_EQ(callsOf(Call::cuCtxSetCurrent), before + 3);
}

TEST_F(DriverFaultTest, OpeningStopsAtTheFirstFailure) {
  for (Call call : {Call::cuDeviceGet, Call::cuDevicePrimaryCtxRetain, Call::cuCtxSetCurrent}) {
    device.reset();
    Result<std::unique_ptr<Driver>> driver = Driver::load(INGOT_SIMULATOR);
    ASSERT_TRUE(driver.ok());
    makeFaulty(**driver);
    plant(call, DriverResult::InvalidDevice);
    Result<std::unique_ptr<CudaDevice>> opened =
        CudaDevice::openOn(std::move(*driver), {.simulate = "sm_80"});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), "INGOT-E6502");
    EXPECT_EQ(callsOf(Call::cuStreamCreate), 0);
    EXPECT_EQ(callsOf(Call::cuDevicePrimaryCtxRelease_v2), call == Call::cuCtxSetCurrent);
  }
}

TEST(Driver, RefusesOneThatIsTooOld) {
  Result<std::unique_ptr<Driver>> driver = Driver::load(INGOT_OLD_DRIVER);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), "INGOT-E6501");
  EXPECT_THAT(driver.status().toString(), HasSubstr("is of CUDA 12.4, and engines need"));
  EXPECT_THAT(Driver::load("libc.so.6").status().toString(), HasSubstr("is no CUDA driver"));
}

//===- Tensor maps --------------------------------------------------------------------------===//

namespace {

/// Takes a map and does nothing.
constexpr const char *kMapPtx = R"(.version 8.0
.target sm_90
.address_size 64

.visible .entry mapped(.param .u64 p_in, .param .align 128 .b8 p_map[128])
{
  griddepcontrol.wait;
  ret;
}
)";

constexpr TensorMapRecipe kRecipe = {0, 8, 64, 4, 32};

class TensorMapTest : public DriverFaultTest {
protected:
  void SetUp() override {
    open({.simulate = "sm_90a"});
    std::string text = kMapPtx;
    Result<size_t> loaded =
        device->loadLibrary({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, "maps");
    ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
    library = *loaded;
  }

  Result<DeviceKernel> mapped(const TensorMapRecipe &recipe) {
    return device->kernel(library, "mapped", {.block = {32, 1, 1}, .tensorMaps = {recipe}});
  }

  void launchMapped(const DeviceKernel &kernel, void *buffer) {
    void *buffers[] = {buffer};
    device->launch({&kernel, buffers, {}, {1, 1, 1}, "layer.0.product"});
  }

  size_t library = 0;
};

} // namespace

TEST_F(TensorMapTest, AreMadeOnceForAnAddress) {
  Result<DeviceKernel> kernel = mapped(kRecipe);
  ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
  void *memory = *device->allocate(4096);
  for (int i = 0; i < 3; ++i)
    launchMapped(*kernel, memory);
  device->beginRecording(1);
  launchMapped(*kernel, memory);
  device->endRecording();
  EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), 1);
  launchMapped(*kernel, static_cast<uint8_t *>(memory) + 64);
  EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), 2);
  Result<DeviceKernel> other = mapped({0, 4, 64, 4, 32});
  ASSERT_TRUE(other.ok());
  launchMapped(*other, memory);
  EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), 3);
  EXPECT_TRUE(readOne().ok());
}

TEST_F(TensorMapTest, AreMadeAgainForOtherRowsOnly) {
  TensorMapRecipe recipe = {0, 8, 64, 4, 32, kBf16, 32};
  Result<DeviceKernel> kernel = mapped(recipe);
  ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
  void *memory = *device->allocate(4096);
  int encoded = 0;
  for (uint64_t rows : {8, 8, 5, 5, 8}) {
    encoded += kernel->shape.tensorMaps[0].rows != rows || encoded == 0;
    kernel->shape.tensorMaps[0].rows = rows;
    launchMapped(*kernel, memory);
    EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), encoded) << rows;
  }
  EXPECT_EQ(encoded, 3);
  EXPECT_TRUE(readOne().ok());
}

TEST_F(TensorMapTest, SayElementsAndSwizzlesAsTheDriverNamesThem) {
  using cuda::TensorMapDataType, cuda::TensorMapSwizzle;
  struct Case {
    TensorMapRecipe recipe;
    TensorMapDataType type;
    TensorMapSwizzle swizzle;
    uint32_t columns, box;
  };
  const Case cases[] = {
      {{0, 8, 64, 4, 32}, TensorMapDataType::Uint64, TensorMapSwizzle::None, 8, 4},
      {{0, 8, 64, 4, 32, kBf16, 32},
       TensorMapDataType::Bfloat16,
       TensorMapSwizzle::Bytes32,
       32,
       16},
      {{0, 8, 64, 4, 64, kF16, 64}, TensorMapDataType::Float16, TensorMapSwizzle::Bytes64, 32, 32},
      {{0, 8, 128, 4, 128, kE4m3, 128},
       TensorMapDataType::Uint8,
       TensorMapSwizzle::Bytes128,
       128,
       128},
      {{0, 8, 64, 4, 32, kI8}, TensorMapDataType::Uint8, TensorMapSwizzle::None, 64, 32},
      {{0, 8, 64, 4, 32, kF32, 128}, TensorMapDataType::Float32, TensorMapSwizzle::Bytes128, 16, 8},
      {{0, 8, 64, 4, 32, kI32}, TensorMapDataType::Int32, TensorMapSwizzle::None, 16, 8}};
  void *memory = *device->allocate(4096);
  for (const Case &one : cases) {
    Result<DeviceKernel> kernel = mapped(one.recipe);
    ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
    launchMapped(*kernel, memory);
    EXPECT_EQ(encodings.back().type, one.type);
    EXPECT_EQ(encodings.back().swizzle, one.swizzle);
    EXPECT_EQ(encodings.back().columns, one.columns);
    EXPECT_EQ(encodings.back().box, one.box);
  }
  EXPECT_TRUE(readOne().ok());
}

TEST_F(TensorMapTest, AreRefusedByTheDriversLimitsWhenTheKernelIsLoaded) {
  const std::pair<TensorMapRecipe, const char *> cases[] = {
      {{0, 8, 72, 4, 32}, "bytes of a row: 72, which must be a multiple of 16"},
      {{0, 8, 0, 4, 32}, "elements of a row: 0"},
      {{0, 8, uint64_t{1} << 40, 4, 32}, "below 2^40"},
      {{0, 0, 64, 4, 32}, "rows: 0"},
      {{0, (uint64_t{1} << 32) + 1, 64, 4, 32}, "rows: 4294967297"},
      {{0, 8, 64, 4, 24}, "bytes of a box's row: 24, which must be a multiple of 16"},
      {{0, 8, 64, 4, 2064}, "elements of a box's row: 258, which must be 1 to 256"},
      {{0, 8, 64, 257, 32}, "rows of a box: 257, which must be 1 to 256"},
      {{0, 8, 64, 0, 32}, "rows of a box: 0"},
      {{0, 8, 64, 4, 32, kI4}, "elements of less than a byte"},
      {{0, 8, 64, 4, 32, kBf16, 16}, "a swizzle: 16, which must be 0, 32, 64 or 128"},
      {{0, 8, 128, 4, 128, kBf16, 64}, "a box's row: 128, which must be within the swizzle of 64"},
      {{0, 8, 512, 4, 272, kE4m3}, "elements of a box's row: 272"}};
  for (const auto &[recipe, text] : cases) {
    Result<DeviceKernel> kernel = mapped(recipe);
    ASSERT_FALSE(kernel.ok()) << text;
    EXPECT_EQ(kernel.status().code(), "INGOT-E5012");
    EXPECT_THAT(kernel.status().toString(), HasSubstr("tensor map 0 of buffer 0 has "));
    EXPECT_THAT(kernel.status().toString(), HasSubstr(text));
  }
  EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), 0);
}

TEST_F(TensorMapTest, AreRefusedForAnAddressThatIsNotAligned) {
  Result<DeviceKernel> kernel = mapped(kRecipe);
  ASSERT_TRUE(kernel.ok());
  void *memory = *device->allocate(4096);
  launchMapped(*kernel, static_cast<uint8_t *>(memory) + 8);
  EXPECT_EQ(callsOf(Call::cuTensorMapEncodeTiled), 0);
  Status status = device->read(&library, memory, 4);
  EXPECT_EQ(status.code(), "INGOT-E6504");
  EXPECT_THAT(status.toString(),
              HasSubstr("tensor map of buffer 0, for launching kernel 'mapped' of op "
                        "'layer.0.product'"));
  EXPECT_THAT(status.toString(), HasSubstr("no multiple of 16"));
}

TEST_F(TensorMapTest, ThatTheDriverRefusesNameTheKernel) {
  Result<DeviceKernel> kernel = mapped(kRecipe);
  ASSERT_TRUE(kernel.ok());
  void *memory = *device->allocate(4096);
  plant(Call::cuTensorMapEncodeTiled, DriverResult::InvalidValue);
  launchMapped(*kernel, memory);
  EXPECT_THAT(device->read(&library, memory, 4).toString(), HasSubstr("kernel 'mapped'"));
  EXPECT_EQ(callsOf(Call::cuLaunchKernelEx), 0);
}
