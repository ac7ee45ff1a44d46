// SPDX-License-Identifier: Apache-2.0
// The CUDA driver found at run time, or the simulator in its place.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/devices/cuda/DriverApi.h"

#include <memory>
#include <string>

namespace ingot::runtime {

/// A loaded driver library; every function that is not the simulator's is present.
class Driver : public cuda::DriverFunctions {
public:
  /// Loads `library` (a file, or a name that the loader searches) and initialises it.
  /// INGOT-E6501: not found, or no driver. INGOT-E6502: it refuses to start.
  static Result<std::unique_ptr<Driver>> load(const std::string &library);

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

  void *handle = nullptr;
};

} // namespace ingot::runtime
