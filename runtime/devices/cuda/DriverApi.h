// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that the runtime uses, written for this project:
// types, values, and one list of functions that both the CUDA device (as pointers to look up) and
// the simulator (as functions to export) are made from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::cuda {

/// An address of device memory; also what a kernel receives for a pointer.
using DevicePointer = uint64_t;
/// The position of a device, 0 to cuDeviceGetCount - 1.
using DeviceOrdinal = int32_t;

using Context = struct ContextHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Library = struct LibraryHandle *;
using Kernel = struct KernelHandle *;
/// What launches take. A `Kernel` may stand for it in a launch and in a graph node.
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *;
using GraphNode = struct GraphNodeHandle *;
using GraphExec = struct GraphExecHandle *;

/// What every driver function returns. cuGetErrorName names the others.
enum class DriverResult : uint32_t {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  NvlinkUncorrectable = 220,
  UnsupportedPtxVersion = 222,
  Contained = 226,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  ContextIsDestroyed = 709,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  TensorMemoryLeak = 721,
  NotPermitted = 800,
  NotSupported = 801,
  MpsClientTerminated = 810,
  ExternalDevice = 911,
  InvalidClusterSize = 912,
  Unknown = 999,
};

enum class DeviceAttribute : uint32_t {
  MaxThreadsPerBlock = 1,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRateKilohertz = 13,
  MultiprocessorCount = 16,
  MemoryClockRateKilohertz = 36,
  GlobalMemoryBusWidthBits = 37,
  L2CacheBytes = 38,
  MaxThreadsPerMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  MaxSharedMemoryPerBlockOptIn = 97,
  MaxBlocksPerMultiprocessor = 106,
  ReservedSharedMemoryPerBlock = 111,
};

/// Attributes of a kernel or function.
enum class FunctionAttribute : uint32_t {
  MaxThreadsPerBlock = 0,
  StaticSharedBytes = 1,
  ConstBytes = 2,
  LocalBytes = 3,
  Registers = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  MaxDynamicSharedBytes = 8,
  PreferredSharedMemoryCarveout = 9,
  NonPortableClusterSizeAllowed = 14,
};

/// Values of FunctionAttribute::PreferredSharedMemoryCarveout are percents, or the driver's choice.
enum class SharedMemoryCarveout : int32_t { Default = -1, MostL1 = 0, MostShared = 100 };

enum class StreamFlags : uint32_t { Default = 0, NonBlocking = 1 };
enum class EventFlags : uint32_t { Default = 0, BlockingSync = 1, DisableTiming = 2 };

/// Options of cuLibraryLoadData, given as pairs of arrays. Sizes go by value in the pointer.
enum class JitOption : uint32_t {
  ErrorLogBuffer = 5,
  ErrorLogBufferBytes = 6,
};

enum class LaunchAttributeId : uint32_t {
  Ignore = 0,
  ClusterDimension = 4,
  ProgrammaticStreamSerialization = 6,
  Priority = 8,
};

/// Read the member that `LaunchAttribute::id` names.
union LaunchAttributeValue {
  uint64_t padding[8];
  struct {
    uint32_t x, y, z;
  } clusterDimension;
  int32_t programmaticStreamSerializationAllowed;
  int32_t priority;
};

struct LaunchAttribute {
  LaunchAttributeId id;
  uint32_t padding;
  LaunchAttributeValue value;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchAttributeValue) == 64);

struct LaunchConfig {
  uint32_t gridDimX, gridDimY, gridDimZ;
  uint32_t blockDimX, blockDimY, blockDimZ;
  uint32_t dynamicSharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

enum class GraphNodeType : uint32_t { Kernel = 0, Memcpy = 1, Memset = 2, Empty = 5 };

struct KernelNodeParameters {
  Function function; // or null, with `kernel`
  uint32_t gridDimX, gridDimY, gridDimZ;
  uint32_t blockDimX, blockDimY, blockDimZ;
  uint32_t dynamicSharedBytes;
  void **arguments; // one pointer per parameter; the values are copied when the node is added
  void **extra;     // null
  Kernel kernel;
  Context context; // null: the current one
};
static_assert(sizeof(KernelNodeParameters) == 72);

enum class MemoryType : uint32_t { Host = 1, Device = 2, Unified = 4 };

/// A copy of a box. A plain copy sets widthBytes, height = depth = 1 and zero offsets. A pitch of 0
/// is none, as is a height of 0 where the depth is 1; a pitch that is given is at least as large as
/// the width and at most 2^31 - 1, so a plain copy of more bytes must leave it out.
struct Memcpy3d {
  size_t sourceXBytes, sourceY, sourceZ, sourceLod;
  MemoryType sourceType;
  const void *sourceHost;
  DevicePointer sourceDevice;
  void *sourceArray;
  void *reserved0;
  size_t sourcePitch, sourceHeight;
  size_t targetXBytes, targetY, targetZ, targetLod;
  MemoryType targetType;
  void *targetHost;
  DevicePointer targetDevice;
  void *targetArray;
  void *reserved1;
  size_t targetPitch, targetHeight;
  size_t widthBytes, height, depth;
};
static_assert(sizeof(Memcpy3d) == 200);

struct MemcpyNodeParameters {
  int32_t flags;    // 0
  int32_t reserved; // 0
  Context context;  // never null
  Memcpy3d copy;
};
static_assert(sizeof(MemcpyNodeParameters) == 216);

struct MemsetNodeParameters {
  DevicePointer target;
  size_t pitch; // unused where height is 1
  uint32_t value;
  uint32_t elementBytes; // 1, 2 or 4
  size_t width;          // in elements
  size_t height;         // in rows
  Context context;
};
static_assert(sizeof(MemsetNodeParameters) == 48);

/// Zero it before filling the member that `type` names.
struct GraphNodeParameters {
  GraphNodeType type;
  int32_t reserved0[3];
  union {
    int64_t reserved1[29];
    KernelNodeParameters kernel;
    MemcpyNodeParameters memcpy;
    MemsetNodeParameters memset;
  };
  int64_t reserved2;
};
static_assert(sizeof(GraphNodeParameters) == 256);

enum class GraphPort : uint8_t { Default = 0, Programmatic = 1, LaunchOrder = 2 };
enum class GraphDependencyType : uint8_t { Default = 0, Programmatic = 1 };

/// One edge of a graph. With port and type Programmatic the dependent kernel may start before its
/// predecessor ends, and must execute griddepcontrol.wait before it touches the predecessor's data.
struct GraphEdge {
  GraphPort fromPort;
  uint8_t toPort; // 0
  GraphDependencyType type;
  uint8_t reserved[5];
};
static_assert(sizeof(GraphEdge) == 8);

/// What cuTensorMapEncodeTiled writes and a kernel takes as a const __grid_constant__ parameter.
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

enum class TensorMapDataType : uint32_t {
  Uint8 = 0,
  Uint16 = 1,
  Uint32 = 2,
  Int32 = 3,
  Uint64 = 4,
  Int64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9,
  Float32Ftz = 10,
  Tfloat32 = 11,
  Tfloat32Ftz = 12,
};
enum class TensorMapInterleave : uint32_t { None = 0, Bytes16 = 1, Bytes32 = 2 };
enum class TensorMapSwizzle : uint32_t { None = 0, Bytes32 = 1, Bytes64 = 2, Bytes128 = 3 };
enum class TensorMapPromotion : uint32_t {
  None = 0,
  L2Bytes64 = 1,
  L2Bytes128 = 2,
  L2Bytes256 = 3
};
enum class TensorMapFill : uint32_t { Zero = 0, NanRequestZeroFma = 1 };

/// When an asynchronous operation of a kernel takes place, between its issue and its wait.
enum class AsyncCompletion : uint32_t {
  Late = 0, // as late as is legal: what is read too early is still the old content
  Early = 1 // as early as is legal: what is overwritten too early is the new content
};

enum class SimulatorChecks : uint32_t {
  Bounds = 0, // addresses and alignment, barriers, deadlocks: always on, the fast mode
  Full = 1    // also races, uninitialised shared memory, programmatic launch, bank conflicts
};

/// What ingotSimulatorConfigure takes. Zero means the default everywhere.
struct SimulatorOptions {
  uint32_t structBytes;            // sizeof(SimulatorOptions)
  const char *architecture;        // "sm_80" to "sm_120a"; default "sm_80"
  uint32_t multiprocessors;        // default: that of a common part of the architecture
  AsyncCompletion asyncCompletion; // default Late
  uint64_t warpOrderSeed;          // 0: warps run in order; else a random order from this seed
  SimulatorChecks checks;          // default Bounds
  uint32_t exactTensorCores;       // 1: products summed as the hardware does; default f32
  uint32_t workerThreads;          // default: the CPUs of the machine
  uint64_t memoryBytes;            // of the simulated device; default 80 GiB
  uint64_t maxInstructionsPerWarp; // a warp that executes more is stopped; default 2^34
};

/// Sums since the last ingotSimulatorReset. Those marked full are counted with Full checks only.
struct SimulatorCounters {
  uint64_t launches;
  uint64_t blocks;
  uint64_t warpInstructions;
  uint64_t tensorInstructions; // mma and wgmma
  uint64_t sharedAccesses;     // full: warp accesses to shared memory
  uint64_t bankConflicts;      // full: extra passes that they took
  uint64_t findings;           // also those beyond the reports that are kept
};

} // namespace ingot::cuda

// Every driver function of the runtime: X(exported name, parameter types).
#define INGOT_DRIVER_FUNCTIONS(X)                                                                  \
  X(cuInit, uint32_t flags)                                                                        \
  X(cuDriverGetVersion, int32_t *version)                                                          \
  X(cuGetErrorName, DriverResult result, const char **name)                                        \
  X(cuGetErrorString, DriverResult result, const char **text)                                      \
  X(cuDeviceGetCount, int32_t *count)                                                              \
  X(cuDeviceGet, DeviceOrdinal *device, int32_t ordinal)                                           \
  X(cuDeviceGetName, char *name, int32_t bytes, DeviceOrdinal device)                              \
  X(cuDeviceGetAttribute, int32_t *value, DeviceAttribute attribute, DeviceOrdinal device)         \
  X(cuDeviceTotalMem_v2, size_t *bytes, DeviceOrdinal device)                                      \
  X(cuDevicePrimaryCtxRetain, Context *context, DeviceOrdinal device)                              \
  X(cuDevicePrimaryCtxRelease_v2, DeviceOrdinal device)                                            \
  X(cuCtxSetCurrent, Context context)                                                              \
  X(cuMemGetInfo_v2, size_t *freeBytes, size_t *totalBytes)                                        \
  X(cuMemAlloc_v2, DevicePointer *memory, size_t bytes)                                            \
  X(cuMemFree_v2, DevicePointer memory)                                                            \
  X(cuMemAllocHost_v2, void **memory, size_t bytes)                                                \
  X(cuMemFreeHost, void *memory)                                                                   \
  X(cuMemcpyHtoDAsync_v2, DevicePointer target, const void *source, size_t bytes, Stream stream)   \
  X(cuMemcpyDtoHAsync_v2, void *target, DevicePointer source, size_t bytes, Stream stream)         \
  X(cuMemcpyDtoDAsync_v2, DevicePointer target, DevicePointer source, size_t bytes, Stream stream) \
  X(cuMemsetD8Async, DevicePointer target, uint8_t value, size_t bytes, Stream stream)             \
  X(cuStreamCreate, Stream *stream, StreamFlags flags)                                             \
  X(cuStreamDestroy_v2, Stream stream)                                                             \
  X(cuStreamSynchronize, Stream stream)                                                            \
  X(cuStreamWaitEvent, Stream stream, Event event, uint32_t flags)                                 \
  X(cuEventCreate, Event *event, EventFlags flags)                                                 \
  X(cuEventDestroy_v2, Event event)                                                                \
  X(cuEventRecord, Event event, Stream stream)                                                     \
  X(cuEventSynchronize, Event event)                                                               \
  X(cuEventQuery, Event event)                                                                     \
  X(cuEventElapsedTime_v2, float *milliseconds, Event start, Event end)                            \
  X(cuLibraryLoadData, Library *library, const void *code, JitOption *jitOptions,                  \
    void **jitValues, uint32_t jitCount, uint32_t *libraryOptions, void **libraryValues,           \
    uint32_t libraryCount)                                                                         \
  X(cuLibraryUnload, Library library)                                                              \
  X(cuLibraryGetKernel, Kernel *kernel, Library library, const char *name)                         \
  X(cuKernelGetFunction, Function *function, Kernel kernel)                                        \
  X(cuFuncLoad, Function function)                                                                 \
  X(cuKernelSetAttribute, FunctionAttribute attribute, int32_t value, Kernel kernel,               \
    DeviceOrdinal device)                                                                          \
  X(cuKernelGetAttribute, int32_t *value, FunctionAttribute attribute, Kernel kernel,              \
    DeviceOrdinal device)                                                                          \
  X(cuFuncSetAttribute, Function function, FunctionAttribute attribute, int32_t value)             \
  X(cuFuncGetAttribute, int32_t *value, FunctionAttribute attribute, Function function)            \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int32_t *blocks, Function function,               \
    int32_t blockThreads, size_t dynamicSharedBytes)                                               \
  X(cuLaunchKernelEx, const LaunchConfig *config, Function function, void **arguments,             \
    void **extra)                                                                                  \
  X(cuGraphCreate, Graph *graph, uint32_t flags)                                                   \
  X(cuGraphDestroy, Graph graph)                                                                   \
  X(cuGraphAddNode_v2, GraphNode *node, Graph graph, const GraphNode *dependencies,                \
    const GraphEdge *edges, size_t dependencyCount, GraphNodeParameters *parameters)               \
  X(cuGraphKernelNodeSetAttribute, GraphNode node, LaunchAttributeId attribute,                    \
    const LaunchAttributeValue *value)                                                             \
  X(cuGraphInstantiateWithFlags, GraphExec *executable, Graph graph, uint64_t flags)               \
  X(cuGraphExecDestroy, GraphExec executable)                                                      \
  X(cuGraphLaunch, GraphExec executable, Stream stream)                                            \
  X(cuTensorMapEncodeTiled, TensorMap *map, TensorMapDataType type, uint32_t rank, void *address,  \
    const uint64_t *sizes, const uint64_t *strideBytes, const uint32_t *box,                       \
    const uint32_t *elementStrides, TensorMapInterleave interleave, TensorMapSwizzle swizzle,      \
    TensorMapPromotion promotion, TensorMapFill fill)

// What only the simulator exports. That ingotSimulatorConfigure is there tells the CUDA device to
// load PTX instead of cubins.
#define INGOT_SIMULATOR_FUNCTIONS(X)                                                               \
  /* Chooses device and modes. Modes may change between launches; the device, that is              \
     architecture, multiprocessors and memory, only while no context is retained. */               \
  X(ingotSimulatorConfigure, const SimulatorOptions *options)                                      \
  /* Copies the reports, one per line and ended by a zero, into `text`; `*needed` gets the bytes   \
     that all of them take. */                                                                     \
  X(ingotSimulatorFindings, char *text, size_t bytes, size_t *needed)                              \
  X(ingotSimulatorCounters, SimulatorCounters *counters)                                           \
  /* Forgets findings and counters. */                                                             \
  X(ingotSimulatorReset)                                                                           \
  /* What was wrong with the last call that failed on this thread; lives until the next one. */    \
  X(ingotSimulatorLastError, const char **text)                                                    \
  /* Makes the bytes an object of their own for the bounds check, within an allocation; 0 bytes    \
     forget the objects of the allocation that `memory` lies in. */                                \
  X(ingotSimulatorDeclareBuffer, DevicePointer memory, size_t bytes, const char *name)

namespace ingot::cuda {

/// The driver as the runtime holds it: one pointer per function, null where it was not found.
struct DriverFunctions {
#define INGOT_DRIVER_POINTER(name, ...) DriverResult (*name)(__VA_ARGS__) = nullptr;
  INGOT_DRIVER_FUNCTIONS(INGOT_DRIVER_POINTER)
  INGOT_SIMULATOR_FUNCTIONS(INGOT_DRIVER_POINTER)
#undef INGOT_DRIVER_POINTER
};

} // namespace ingot::cuda
