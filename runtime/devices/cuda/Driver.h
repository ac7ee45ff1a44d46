// SPDX-License-Identifier: Apache-2.0
// The CUDA driver found at run time, or the simulator in its place.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/devices/cuda/DriverApi.h"

#include <memory>
#include <string>

namespace ingot::runtime {

/// Whether the driver documents that every later call fails as well: the context, and with it the
/// process's use of the GPU, is at its end.
bool endsContext(cuda::DriverResult result);

/// A loaded driver library; every function that is not the simulator's is present.
class Driver : public cuda::DriverFunctions {
public:
  /// Loads `library` (a file, or a name that the loader searches) and initialises it.
  /// INGOT-E6501: not found, no driver, or too old. INGOT-E6502: it refuses to start.
  static Result<std::unique_ptr<Driver>> load(const std::string &library);

  /// The oldest driver, as cuDriverGetVersion counts: NVRTC 13 writes cubins that older ones do not
  /// load, and the newest function here is of 12.8.
  static constexpr int32_t minimumVersion = 13000;

  /// The system's driver library.
  static constexpr const char *systemLibrary = "libcuda.so.1";

  bool isSimulator() const { return ingotSimulatorConfigure != nullptr; }

  /// Success, or `code` with the driver's name and text for `result`. `what` was being done; `fix`
  /// is what the user can change.
  Status check(cuda::DriverResult result, const char *code, const std::string &what,
               std::string_view fix = {}) const;

private:
  Driver() = default;
  Status resolve(const std::string &library);
  Status checkVersion(const std::string &library) const;

  void *handle = nullptr;
};

} // namespace ingot::runtime
