// SPDX-License-Identifier: Apache-2.0
// The only list of devices: which one an engine gets.
#pragma once

#include "runtime/devices/Device.h"

#include <memory>

namespace ingot::runtime {

/// What the user asks of the device.
struct DeviceRequest {
  int64_t threads = 0;       ///< host: 0 means as many as this process may use
  std::string simulate;      ///< CUDA architecture to simulate on the CPU ("sm_90a"); empty: none
  uint32_t simulatedSms = 0; ///< its multiprocessors; 0: the usual number
  bool simulateStrictly = false; ///< with all checks of the simulator
  LaunchDiagnosis diagnosis;     ///< of a GPU, real or simulated
};

/// The simulator when one is asked for; else the GPU, when it has one of `architectures` (those of
/// an engine's targets, or of the one the user named); else the host. INGOT-E6501 to E6503: no
/// architecture is the host's, and the GPU cannot be used. INGOT-E6505: a diagnosis on the host.
Result<std::unique_ptr<Device>> openDevice(const DeviceRequest &request,
                                           std::span<const std::string_view> architectures);

} // namespace ingot::runtime
