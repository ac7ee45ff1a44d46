// SPDX-License-Identifier: Apache-2.0
// What an engine needs from a device: memory, code, and launches over a grid of tiles.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/Elements.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Forms of kernel code; values as LibraryKind of Engine.fbs.
enum class CodeKind : uint8_t { HostSharedObject, Cubin, Ptx };

/// How tensor copies read a kernel's buffer; as TensorMap of Engine.fbs.
struct TensorMapRecipe {
  uint32_t buffer = 0;             ///< index among the launch's buffers
  uint64_t rows = 0, rowBytes = 0; ///< rows of the launch being made
  uint32_t boxRows = 0, boxBytes = 0;
  ElementType element = kU64;
  uint32_t swizzle = 0; ///< bytes
};

/// How a kernel is launched, beside its grid.
struct KernelShape {
  bool spmd = false; ///< host: one call per thread, with a barrier, instead of one call per tile
  uint32_t block[3] = {1, 1, 1};   ///< cuda: threads per block
  uint32_t cluster[3] = {1, 1, 1}; ///< cuda: blocks per cluster
  uint64_t sharedBytes = 0;        ///< cuda: dynamic shared memory per block
  /// cuda: tensor maps, which are arguments after all others
  std::vector<TensorMapRecipe> tensorMaps = {};
};

/// One kernel of a loaded library; owned by the device.
struct DeviceKernel {
  void *entry = nullptr; ///< host: an IngotKernel; cuda: a function of the driver
  KernelShape shape;
  std::string name = {}; ///< for messages
};

/// One launch, fully evaluated. The pointed-to arrays live for the call.
struct DeviceLaunch {
  const DeviceKernel *kernel;
  std::span<void *const> buffers;
  std::span<const int64_t> scalars;
  int64_t grid[3];                 ///< tiles, or blocks; ignored for SPMD kernels
  std::string_view operation = {}; ///< the instruction's name, for messages
};

/// How a GPU runs launches while somebody looks for the one that fails. Slower; the same results.
struct LaunchDiagnosis {
  bool noGraphs = false;          ///< every launch is made alone, nothing is recorded
  bool noDependentLaunch = false; ///< a kernel starts only after the one before it has ended
  bool syncEach = false;          ///< waits after every launch and copy; implies noGraphs

  bool any() const { return noGraphs || noDependentLaunch || syncEach; }
};

/// A device that executes engines. Calls come from one thread at a time; launches and copies take
/// effect in the order of the calls, and `read` returns after everything before it.
class Device {
public:
  virtual ~Device() = default;

  /// Architecture strings of the targets this device runs ("x86-64").
  virtual std::string_view architecture() const = 0;
  /// True when the device has the named feature ("avx2").
  virtual bool hasFeature(std::string_view feature) const = 0;
  /// One line naming the device, for error messages and reports.
  virtual std::string description() const = 0;
  /// Value of a dim whose source is the device ("threads", "sms"); -1 when it does not know it.
  virtual int64_t dimension(std::string_view name) const = 0;

  /// CUDA version of the driver as 1000 * major + 10 * minor; 0 for a device without a driver.
  virtual int32_t driverVersion() const { return 0; }
  /// What a device that checks kernels found wrong so far, a line each; empty for others.
  virtual std::string findings() const { return {}; }

  /// Bytes that an engine may take here, `weightBytes` of them for weights in the file's
  /// mapping; UINT64_MAX: unknown. `fraction`: of what is free, which on the host does not count
  /// the weights; 0: half on the host, 0.9 on a GPU.
  virtual uint64_t availableMemory(uint64_t weightBytes, double fraction) const = 0;

  /// Chooses how many threads (host) execute launches; called once, before anything else runs.
  /// `scratchBytes`: scratch memory of each. INGOT-E6010 or E6014 on failure.
  virtual Status start(int64_t threads, uint64_t scratchBytes) = 0;

  /// Zeroed memory, aligned and over-readable as the kernel ABI says, owned by the device.
  /// INGOT-E6010 when there is not enough.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  /// Makes file bytes that stay mapped usable as kernel arguments; the host uses them in place.
  virtual Result<void *> adopt(std::span<const uint8_t> bytes) = 0;

  /// Whether `loadLibrary` takes code of this form.
  virtual bool loads(CodeKind kind) const = 0;
  /// Loads a code section; the result is an index for `kernel`. `name` is for messages.
  virtual Result<size_t> loadLibrary(std::span<const uint8_t> code, const std::string &name) = 0;
  virtual Result<DeviceKernel> kernel(size_t library, const std::string &symbol,
                                      const KernelShape &shape) = 0;

  virtual void launch(const DeviceLaunch &launch) = 0;
  virtual void copy(void *destination, const void *source, uint64_t bytes) = 0;
  virtual void zero(void *destination, uint64_t bytes) = 0;
  virtual void write(void *destination, const void *hostSource, uint64_t bytes) = 0;
  /// INGOT-E6504 when anything since the last read went wrong on the device, E6506 when the device
  /// is of no more use. Either is final: every later call fails in the same way.
  virtual Status read(void *hostDestination, const void *source, uint64_t bytes) = 0;

  /// Bytes that reads may hold between `startRead` and `finishRead`; 0 from a device whose calls
  /// return when their work is done, where working ahead gains nothing.
  virtual uint64_t startedReadBytes() const { return 0; }
  /// Starts to read what stands at `source` after everything before this call. The read takes its
  /// place behind those already started; all of them hold at most `startedReadBytes()`.
  virtual void startRead(const void *source, uint64_t bytes) {
    (void)source;
    (void)bytes;
  }
  /// Waits for the oldest started read and delivers all of its bytes. Errors as of `read`.
  virtual Status finishRead(void *hostDestination) {
    (void)hostDestination;
    return {};
  }

  /// Launches and copies that repeat exactly may be recorded under a key. `replay` is true when it
  /// ran the recording of `key`; after false the caller makes the calls between `beginRecording`
  /// and `endRecording`, which also runs them. A device without recordings does nothing here.
  virtual bool replay(uint64_t key) {
    (void)key;
    return false;
  }
  virtual void beginRecording(uint64_t key) { (void)key; }
  virtual void endRecording() {}
  /// Gives up the recording of `key`, if there is one.
  virtual void forget(uint64_t key) { (void)key; }

  /// Seconds on the device's own clock between the launches and copies before `startTimer` and the
  /// end of the last one before `stopTimer`, which waits for it. Errors as of `read`.
  virtual Status startTimer() = 0;
  virtual Result<double> stopTimer() = 0;
  /// Bytes of the largest cache in front of the device's memory; 0: unknown.
  virtual uint64_t cacheBytes() const = 0;
};

} // namespace ingot::runtime
