// SPDX-License-Identifier: Apache-2.0
// Looks up the functions of DriverApi.h by name.
#include "runtime/devices/cuda/Driver.h"

#include <dlfcn.h>

namespace ingot::runtime {

using cuda::DriverResult;

bool endsContext(DriverResult result) {
  switch (result) {
  case DriverResult::Deinitialized:
  case DriverResult::EccUncorrectable:
  case DriverResult::NvlinkUncorrectable:
  case DriverResult::Contained:
  case DriverResult::IllegalAddress:
  case DriverResult::LaunchTimeout:
  case DriverResult::ContextIsDestroyed:
  case DriverResult::Assert:
  case DriverResult::HardwareStackError:
  case DriverResult::IllegalInstruction:
  case DriverResult::MisalignedAddress:
  case DriverResult::InvalidAddressSpace:
  case DriverResult::InvalidPc:
  case DriverResult::LaunchFailed:
  case DriverResult::TensorMemoryLeak:
  case DriverResult::MpsClientTerminated:
  case DriverResult::ExternalDevice:
    return true;
  default:
    return false;
  }
}

Result<std::unique_ptr<Driver>> Driver::load(const std::string &library) {
  std::unique_ptr<Driver> driver(new Driver());
  // Never closed: the driver has threads and the simulator state of their own.
  driver->handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!driver->handle) {
    const char *reason = dlerror();
    const bool isSystem = library == systemLibrary;
    return Status::error("INGOT-E6501",
                         (isSystem ? "the CUDA driver '" : "the simulator '") + library +
                             "' cannot be loaded: " + (reason ? reason : "no reason given"),
                         isSystem ? "install the NVIDIA driver, or use a target of the host"
                                  : "put it beside this program, or into ../lib from there");
  }
  if (Status status = driver->resolve(library); !status.ok())
    return status;
  if (Status status = driver->check(driver->cuInit(0), "INGOT-E6502", "starting the CUDA driver");
      !status.ok())
    return status;
  return driver;
}

Status Driver::resolve(const std::string &library) {
#define INGOT_RESOLVE(name, ...) name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));
  INGOT_DRIVER_FUNCTIONS(INGOT_RESOLVE)
  INGOT_SIMULATOR_FUNCTIONS(INGOT_RESOLVE)
#undef INGOT_RESOLVE
  if (Status status = checkVersion(library); !status.ok())
    return status;
  const char *missing = nullptr;
#define INGOT_REQUIRE(name, ...)                                                                   \
  if (!name && !missing)                                                                           \
    missing = #name;
  INGOT_DRIVER_FUNCTIONS(INGOT_REQUIRE)
#undef INGOT_REQUIRE
  if (missing)
    return Status::error("INGOT-E6501",
                         "the CUDA driver '" + library + "' has no function " + missing,
                         "install a newer NVIDIA driver");
  return {};
}

Status Driver::checkVersion(const std::string &library) const {
  constexpr int32_t perMajor = 1000, perMinor = 10;
  auto text = [](int32_t version) {
    return std::to_string(version / perMajor) + "." + std::to_string(version % perMajor / perMinor);
  };
  int32_t version = 0;
  if (!cuDriverGetVersion || cuDriverGetVersion(&version) != DriverResult::Success)
    return Status::error("INGOT-E6501", "'" + library + "' is no CUDA driver",
                         "install the NVIDIA driver, or use a target of the host");
  if (version >= minimumVersion)
    return {};
  return Status::error("INGOT-E6501",
                       "the CUDA driver '" + library + "' is of CUDA " + text(version) +
                           ", and engines need one of CUDA " + text(minimumVersion) + " or newer",
                       "install a newer NVIDIA driver (580 on Linux)");
}

Status Driver::check(DriverResult result, const char *code, const std::string &what,
                     std::string_view fix) const {
  if (result == DriverResult::Success)
    return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  const char *detail = nullptr;
  if (ingotSimulatorLastError)
    ingotSimulatorLastError(&detail);
  std::string unknown =
      "error " + std::to_string(uint32_t(result)) + ", which the driver has no name for";
  return Status::error(code,
                       what + ": " + (name ? name : unknown) +
                           (text ? std::string(" (") + text + ")" : std::string()) +
                           (detail && *detail ? std::string(": ") + detail : std::string()),
                       fix);
}

} // namespace ingot::runtime
