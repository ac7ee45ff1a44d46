// SPDX-License-Identifier: Apache-2.0
// DriverApi.h against NVIDIA's own header: types, values, and the signature of every function.
#include "runtime/devices/cuda/Driver.h"

#include <gtest/gtest.h>

#include <cuda.h>
#include <cudaTypedefs.h>

using namespace ingot::cuda;

namespace {

/// The header's type for one of DriverApi.h.
template <class Ours> struct Counterpart {
  using Type = void;
};
#define PAIR(ours, theirs)                                                                         \
  template <> struct Counterpart<ours> {                                                           \
    using Type = theirs;                                                                           \
  };
PAIR(Context, CUcontext)
PAIR(Stream, CUstream)
PAIR(Event, CUevent)
PAIR(Library, CUlibrary)
PAIR(Kernel, CUkernel)
PAIR(Function, CUfunction)
PAIR(Graph, CUgraph)
PAIR(GraphNode, CUgraphNode)
PAIR(GraphExec, CUgraphExec)
PAIR(DriverResult, CUresult)
PAIR(DeviceAttribute, CUdevice_attribute)
PAIR(FunctionAttribute, CUfunction_attribute)
PAIR(JitOption, CUjit_option)
PAIR(LaunchAttributeId, CUlaunchAttributeID)
PAIR(LaunchAttributeValue, CUlaunchAttributeValue)
PAIR(LaunchConfig, CUlaunchConfig)
PAIR(GraphEdge, CUgraphEdgeData)
PAIR(GraphNodeParameters, CUgraphNodeParams)
PAIR(TensorMap, CUtensorMap)
PAIR(TensorMapDataType, CUtensorMapDataType)
PAIR(TensorMapInterleave, CUtensorMapInterleave)
PAIR(TensorMapSwizzle, CUtensorMapSwizzle)
PAIR(TensorMapPromotion, CUtensorMapL2promotion)
PAIR(TensorMapFill, CUtensorMapFloatOOBfill)
#undef PAIR

/// Whether a parameter of type `Ours` is passed as, and means the same as, one of type `Theirs`.
template <class Ours, class Theirs> constexpr bool isAlike() {
  using Known = typename Counterpart<Ours>::Type;
  if constexpr (!std::is_void_v<Known>) {
    return std::is_same_v<Known, Theirs> && sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using From = std::remove_pointer_t<Ours>;
    using To = std::remove_pointer_t<Theirs>;
    return std::is_const_v<From> == std::is_const_v<To> &&
           isAlike<std::remove_cv_t<From>, std::remove_cv_t<To>>();
  } else if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  } else if constexpr (std::is_floating_point_v<Ours>) {
    return std::is_same_v<Ours, Theirs>;
  } else if constexpr (std::is_enum_v<Ours> || std::is_enum_v<Theirs>) {
    // Flags that one side names and the other does not.
    return !std::is_pointer_v<Ours> && !std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_integral_v<Ours> && std::is_integral_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  }
}

template <class... Ours, class... Theirs>
constexpr bool isSameFunction(DriverResult (*)(Ours...), CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return (isAlike<Ours, Theirs>() && ...);
  else
    return false;
}

// The names are those that the library exports: where the header's macros map a name to a version,
// &::name_v2 is declared and &::name is not.
#define CHECK(name, ...)                                                                           \
  static_assert(                                                                                   \
      isSameFunction(decltype(DriverFunctions::name)(nullptr), decltype (&::name)(nullptr)),       \
      #name " has another signature in cuda.h");
INGOT_DRIVER_FUNCTIONS(CHECK)
#undef CHECK

/// The functions that appeared last; cudaTypedefs.h has their versions in the names of types.
static_assert(std::is_same_v<PFN_cuEventElapsedTime_v12080, decltype(&::cuEventElapsedTime_v2)>);
static_assert(std::is_same_v<PFN_cuFuncLoad_v12040, decltype(&::cuFuncLoad)>);
static_assert(std::is_same_v<PFN_cuGraphAddNode_v12030, decltype(&::cuGraphAddNode_v2)>);
static_assert(ingot::runtime::Driver::minimumVersion >= 12080);

template <class Ours, class Theirs> constexpr bool isSameValue(Ours ours, Theirs theirs) {
  return int64_t(ours) == int64_t(theirs);
}

#define VALUE(ours, theirs) EXPECT_TRUE(isSameValue(ours, theirs)) << #ours << " and " << #theirs
#define FIELD(Ours, ours, Theirs, theirs)                                                          \
  EXPECT_TRUE(offsetof(Ours, ours) == offsetof(Theirs, theirs) &&                                  \
              sizeof(Ours::ours) == sizeof(Theirs::theirs))                                        \
      << #Ours "::" #ours " and " #Theirs "::" #theirs
#define STRUCT(Ours, Theirs)                                                                       \
  EXPECT_TRUE(sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs))                  \
      << #Ours " and " #Theirs

} // namespace

TEST(DriverApi, TheHeaderIsOfTheDriverThatIsNeeded) {
  EXPECT_GE(CUDA_VERSION, ingot::runtime::Driver::minimumVersion);
}

TEST(DriverApi, Results) {
  VALUE(DriverResult::Success, CUDA_SUCCESS);
  VALUE(DriverResult::InvalidValue, CUDA_ERROR_INVALID_VALUE);
  VALUE(DriverResult::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  VALUE(DriverResult::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
  VALUE(DriverResult::Deinitialized, CUDA_ERROR_DEINITIALIZED);
  VALUE(DriverResult::NoDevice, CUDA_ERROR_NO_DEVICE);
  VALUE(DriverResult::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
  VALUE(DriverResult::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
  VALUE(DriverResult::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  VALUE(DriverResult::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  VALUE(DriverResult::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
  VALUE(DriverResult::InvalidPtx, CUDA_ERROR_INVALID_PTX);
  VALUE(DriverResult::NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
  VALUE(DriverResult::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  VALUE(DriverResult::Contained, CUDA_ERROR_CONTAINED);
  VALUE(DriverResult::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  VALUE(DriverResult::NotFound, CUDA_ERROR_NOT_FOUND);
  VALUE(DriverResult::NotReady, CUDA_ERROR_NOT_READY);
  VALUE(DriverResult::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  VALUE(DriverResult::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  VALUE(DriverResult::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  VALUE(DriverResult::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  VALUE(DriverResult::Assert, CUDA_ERROR_ASSERT);
  VALUE(DriverResult::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
  VALUE(DriverResult::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  VALUE(DriverResult::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  VALUE(DriverResult::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  VALUE(DriverResult::InvalidPc, CUDA_ERROR_INVALID_PC);
  VALUE(DriverResult::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  VALUE(DriverResult::TensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK);
  VALUE(DriverResult::NotPermitted, CUDA_ERROR_NOT_PERMITTED);
  VALUE(DriverResult::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
  VALUE(DriverResult::MpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED);
  VALUE(DriverResult::ExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE);
  VALUE(DriverResult::InvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  VALUE(DriverResult::Unknown, CUDA_ERROR_UNKNOWN);
}

TEST(DriverApi, DeviceAttributes) {
#define ATTRIBUTE(ours, theirs) VALUE(DeviceAttribute::ours, CU_DEVICE_ATTRIBUTE_##theirs)
  ATTRIBUTE(MaxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
  ATTRIBUTE(MaxGridDimX, MAX_GRID_DIM_X);
  ATTRIBUTE(MaxGridDimY, MAX_GRID_DIM_Y);
  ATTRIBUTE(MaxGridDimZ, MAX_GRID_DIM_Z);
  ATTRIBUTE(MaxSharedMemoryPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
  ATTRIBUTE(WarpSize, WARP_SIZE);
  ATTRIBUTE(MaxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK);
  ATTRIBUTE(ClockRateKilohertz, CLOCK_RATE);
  ATTRIBUTE(MultiprocessorCount, MULTIPROCESSOR_COUNT);
  ATTRIBUTE(MemoryClockRateKilohertz, MEMORY_CLOCK_RATE);
  ATTRIBUTE(GlobalMemoryBusWidthBits, GLOBAL_MEMORY_BUS_WIDTH);
  ATTRIBUTE(L2CacheBytes, L2_CACHE_SIZE);
  ATTRIBUTE(MaxThreadsPerMultiprocessor, MAX_THREADS_PER_MULTIPROCESSOR);
  ATTRIBUTE(ComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR);
  ATTRIBUTE(ComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR);
  ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  ATTRIBUTE(MaxRegistersPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
  ATTRIBUTE(MaxSharedMemoryPerBlockOptIn, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  ATTRIBUTE(MaxBlocksPerMultiprocessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
  ATTRIBUTE(ReservedSharedMemoryPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK);
#undef ATTRIBUTE
}

TEST(DriverApi, FunctionAttributes) {
#define ATTRIBUTE(ours, theirs) VALUE(FunctionAttribute::ours, CU_FUNC_ATTRIBUTE_##theirs)
  ATTRIBUTE(MaxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
  ATTRIBUTE(StaticSharedBytes, SHARED_SIZE_BYTES);
  ATTRIBUTE(ConstBytes, CONST_SIZE_BYTES);
  ATTRIBUTE(LocalBytes, LOCAL_SIZE_BYTES);
  ATTRIBUTE(Registers, NUM_REGS);
  ATTRIBUTE(PtxVersion, PTX_VERSION);
  ATTRIBUTE(BinaryVersion, BINARY_VERSION);
  ATTRIBUTE(MaxDynamicSharedBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES);
  ATTRIBUTE(PreferredSharedMemoryCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT);
  ATTRIBUTE(NonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
#undef ATTRIBUTE
  VALUE(SharedMemoryCarveout::Default, CU_SHAREDMEM_CARVEOUT_DEFAULT);
  VALUE(SharedMemoryCarveout::MostL1, CU_SHAREDMEM_CARVEOUT_MAX_L1);
  VALUE(SharedMemoryCarveout::MostShared, CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
}

TEST(DriverApi, FlagsAndOptions) {
  VALUE(StreamFlags::Default, CU_STREAM_DEFAULT);
  VALUE(StreamFlags::NonBlocking, CU_STREAM_NON_BLOCKING);
  VALUE(EventFlags::Default, CU_EVENT_DEFAULT);
  VALUE(EventFlags::BlockingSync, CU_EVENT_BLOCKING_SYNC);
  VALUE(EventFlags::DisableTiming, CU_EVENT_DISABLE_TIMING);
  VALUE(JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
  VALUE(JitOption::ErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}

TEST(DriverApi, Launches) {
  VALUE(LaunchAttributeId::Ignore, CU_LAUNCH_ATTRIBUTE_IGNORE);
  VALUE(LaunchAttributeId::ClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  VALUE(LaunchAttributeId::ProgrammaticStreamSerialization,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  VALUE(LaunchAttributeId::Priority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
  STRUCT(LaunchAttributeValue, CUlaunchAttributeValue);
  FIELD(LaunchAttributeValue, clusterDimension, CUlaunchAttributeValue, clusterDim);
  FIELD(LaunchAttributeValue, clusterDimension.x, CUlaunchAttributeValue, clusterDim.x);
  FIELD(LaunchAttributeValue, clusterDimension.y, CUlaunchAttributeValue, clusterDim.y);
  FIELD(LaunchAttributeValue, clusterDimension.z, CUlaunchAttributeValue, clusterDim.z);
  FIELD(LaunchAttributeValue, programmaticStreamSerializationAllowed, CUlaunchAttributeValue,
        programmaticStreamSerializationAllowed);
  FIELD(LaunchAttributeValue, priority, CUlaunchAttributeValue, priority);
  STRUCT(LaunchAttribute, CUlaunchAttribute);
  FIELD(LaunchAttribute, id, CUlaunchAttribute, id);
  FIELD(LaunchAttribute, value, CUlaunchAttribute, value);
  STRUCT(LaunchConfig, CUlaunchConfig);
  FIELD(LaunchConfig, gridDimX, CUlaunchConfig, gridDimX);
  FIELD(LaunchConfig, gridDimY, CUlaunchConfig, gridDimY);
  FIELD(LaunchConfig, gridDimZ, CUlaunchConfig, gridDimZ);
  FIELD(LaunchConfig, blockDimX, CUlaunchConfig, blockDimX);
  FIELD(LaunchConfig, blockDimY, CUlaunchConfig, blockDimY);
  FIELD(LaunchConfig, blockDimZ, CUlaunchConfig, blockDimZ);
  FIELD(LaunchConfig, dynamicSharedBytes, CUlaunchConfig, sharedMemBytes);
  FIELD(LaunchConfig, stream, CUlaunchConfig, hStream);
  FIELD(LaunchConfig, attributes, CUlaunchConfig, attrs);
  FIELD(LaunchConfig, attributeCount, CUlaunchConfig, numAttrs);
}

TEST(DriverApi, GraphNodesOfKernels) {
  VALUE(GraphNodeType::Kernel, CU_GRAPH_NODE_TYPE_KERNEL);
  VALUE(GraphNodeType::Memcpy, CU_GRAPH_NODE_TYPE_MEMCPY);
  VALUE(GraphNodeType::Memset, CU_GRAPH_NODE_TYPE_MEMSET);
  VALUE(GraphNodeType::Empty, CU_GRAPH_NODE_TYPE_EMPTY);
  using Theirs = CUDA_KERNEL_NODE_PARAMS_v3;
  STRUCT(KernelNodeParameters, Theirs);
  FIELD(KernelNodeParameters, function, Theirs, func);
  FIELD(KernelNodeParameters, gridDimX, Theirs, gridDimX);
  FIELD(KernelNodeParameters, gridDimY, Theirs, gridDimY);
  FIELD(KernelNodeParameters, gridDimZ, Theirs, gridDimZ);
  FIELD(KernelNodeParameters, blockDimX, Theirs, blockDimX);
  FIELD(KernelNodeParameters, blockDimY, Theirs, blockDimY);
  FIELD(KernelNodeParameters, blockDimZ, Theirs, blockDimZ);
  FIELD(KernelNodeParameters, dynamicSharedBytes, Theirs, sharedMemBytes);
  FIELD(KernelNodeParameters, arguments, Theirs, kernelParams);
  FIELD(KernelNodeParameters, extra, Theirs, extra);
  FIELD(KernelNodeParameters, kernel, Theirs, kern);
  FIELD(KernelNodeParameters, context, Theirs, ctx);
  STRUCT(GraphNodeParameters, CUgraphNodeParams);
  FIELD(GraphNodeParameters, type, CUgraphNodeParams, type);
  FIELD(GraphNodeParameters, reserved0, CUgraphNodeParams, reserved0);
  FIELD(GraphNodeParameters, reserved1, CUgraphNodeParams, reserved1);
  FIELD(GraphNodeParameters, kernel, CUgraphNodeParams, kernel);
  FIELD(GraphNodeParameters, memcpy, CUgraphNodeParams, memcpy);
  FIELD(GraphNodeParameters, memset, CUgraphNodeParams, memset);
  FIELD(GraphNodeParameters, reserved2, CUgraphNodeParams, reserved2);
}

TEST(DriverApi, GraphNodesOfCopiesAndFills) {
  VALUE(MemoryType::Host, CU_MEMORYTYPE_HOST);
  VALUE(MemoryType::Device, CU_MEMORYTYPE_DEVICE);
  VALUE(MemoryType::Unified, CU_MEMORYTYPE_UNIFIED);
  STRUCT(MemcpyNodeParameters, CUDA_MEMCPY_NODE_PARAMS);
  FIELD(MemcpyNodeParameters, flags, CUDA_MEMCPY_NODE_PARAMS, flags);
  FIELD(MemcpyNodeParameters, reserved, CUDA_MEMCPY_NODE_PARAMS, reserved);
  FIELD(MemcpyNodeParameters, context, CUDA_MEMCPY_NODE_PARAMS, copyCtx);
  FIELD(MemcpyNodeParameters, copy, CUDA_MEMCPY_NODE_PARAMS, copyParams);
  STRUCT(Memcpy3d, CUDA_MEMCPY3D);
  FIELD(Memcpy3d, sourceXBytes, CUDA_MEMCPY3D, srcXInBytes);
  FIELD(Memcpy3d, sourceY, CUDA_MEMCPY3D, srcY);
  FIELD(Memcpy3d, sourceZ, CUDA_MEMCPY3D, srcZ);
  FIELD(Memcpy3d, sourceLod, CUDA_MEMCPY3D, srcLOD);
  FIELD(Memcpy3d, sourceType, CUDA_MEMCPY3D, srcMemoryType);
  FIELD(Memcpy3d, sourceHost, CUDA_MEMCPY3D, srcHost);
  FIELD(Memcpy3d, sourceDevice, CUDA_MEMCPY3D, srcDevice);
  FIELD(Memcpy3d, sourceArray, CUDA_MEMCPY3D, srcArray);
  FIELD(Memcpy3d, reserved0, CUDA_MEMCPY3D, reserved0);
  FIELD(Memcpy3d, sourcePitch, CUDA_MEMCPY3D, srcPitch);
  FIELD(Memcpy3d, sourceHeight, CUDA_MEMCPY3D, srcHeight);
  FIELD(Memcpy3d, targetXBytes, CUDA_MEMCPY3D, dstXInBytes);
  FIELD(Memcpy3d, targetY, CUDA_MEMCPY3D, dstY);
  FIELD(Memcpy3d, targetZ, CUDA_MEMCPY3D, dstZ);
  FIELD(Memcpy3d, targetLod, CUDA_MEMCPY3D, dstLOD);
  FIELD(Memcpy3d, targetType, CUDA_MEMCPY3D, dstMemoryType);
  FIELD(Memcpy3d, targetHost, CUDA_MEMCPY3D, dstHost);
  FIELD(Memcpy3d, targetDevice, CUDA_MEMCPY3D, dstDevice);
  FIELD(Memcpy3d, targetArray, CUDA_MEMCPY3D, dstArray);
  FIELD(Memcpy3d, reserved1, CUDA_MEMCPY3D, reserved1);
  FIELD(Memcpy3d, targetPitch, CUDA_MEMCPY3D, dstPitch);
  FIELD(Memcpy3d, targetHeight, CUDA_MEMCPY3D, dstHeight);
  FIELD(Memcpy3d, widthBytes, CUDA_MEMCPY3D, WidthInBytes);
  FIELD(Memcpy3d, height, CUDA_MEMCPY3D, Height);
  FIELD(Memcpy3d, depth, CUDA_MEMCPY3D, Depth);
  STRUCT(MemsetNodeParameters, CUDA_MEMSET_NODE_PARAMS_v2);
  FIELD(MemsetNodeParameters, target, CUDA_MEMSET_NODE_PARAMS_v2, dst);
  FIELD(MemsetNodeParameters, pitch, CUDA_MEMSET_NODE_PARAMS_v2, pitch);
  FIELD(MemsetNodeParameters, value, CUDA_MEMSET_NODE_PARAMS_v2, value);
  FIELD(MemsetNodeParameters, elementBytes, CUDA_MEMSET_NODE_PARAMS_v2, elementSize);
  FIELD(MemsetNodeParameters, width, CUDA_MEMSET_NODE_PARAMS_v2, width);
  FIELD(MemsetNodeParameters, height, CUDA_MEMSET_NODE_PARAMS_v2, height);
  FIELD(MemsetNodeParameters, context, CUDA_MEMSET_NODE_PARAMS_v2, ctx);
}

TEST(DriverApi, EdgesOfGraphs) {
  VALUE(GraphPort::Default, CU_GRAPH_KERNEL_NODE_PORT_DEFAULT);
  VALUE(GraphPort::Programmatic, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  VALUE(GraphPort::LaunchOrder, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
  VALUE(GraphDependencyType::Default, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
  VALUE(GraphDependencyType::Programmatic, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  STRUCT(GraphEdge, CUgraphEdgeData);
  FIELD(GraphEdge, fromPort, CUgraphEdgeData, from_port);
  FIELD(GraphEdge, toPort, CUgraphEdgeData, to_port);
  FIELD(GraphEdge, type, CUgraphEdgeData, type);
  FIELD(GraphEdge, reserved, CUgraphEdgeData, reserved);
}

TEST(DriverApi, TensorMaps) {
  STRUCT(TensorMap, CUtensorMap);
#define TYPE(ours, theirs) VALUE(TensorMapDataType::ours, CU_TENSOR_MAP_DATA_TYPE_##theirs)
  TYPE(Uint8, UINT8);
  TYPE(Uint16, UINT16);
  TYPE(Uint32, UINT32);
  TYPE(Int32, INT32);
  TYPE(Uint64, UINT64);
  TYPE(Int64, INT64);
  TYPE(Float16, FLOAT16);
  TYPE(Float32, FLOAT32);
  TYPE(Float64, FLOAT64);
  TYPE(Bfloat16, BFLOAT16);
  TYPE(Float32Ftz, FLOAT32_FTZ);
  TYPE(Tfloat32, TFLOAT32);
  TYPE(Tfloat32Ftz, TFLOAT32_FTZ);
#undef TYPE
  VALUE(TensorMapInterleave::None, CU_TENSOR_MAP_INTERLEAVE_NONE);
  VALUE(TensorMapInterleave::Bytes16, CU_TENSOR_MAP_INTERLEAVE_16B);
  VALUE(TensorMapInterleave::Bytes32, CU_TENSOR_MAP_INTERLEAVE_32B);
  VALUE(TensorMapSwizzle::None, CU_TENSOR_MAP_SWIZZLE_NONE);
  VALUE(TensorMapSwizzle::Bytes32, CU_TENSOR_MAP_SWIZZLE_32B);
  VALUE(TensorMapSwizzle::Bytes64, CU_TENSOR_MAP_SWIZZLE_64B);
  VALUE(TensorMapSwizzle::Bytes128, CU_TENSOR_MAP_SWIZZLE_128B);
  VALUE(TensorMapPromotion::None, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  VALUE(TensorMapPromotion::L2Bytes64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B);
  VALUE(TensorMapPromotion::L2Bytes128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  VALUE(TensorMapPromotion::L2Bytes256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  VALUE(TensorMapFill::Zero, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  VALUE(TensorMapFill::NanRequestZeroFma, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}
