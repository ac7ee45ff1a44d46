// SPDX-License-Identifier: Apache-2.0
// A library that says to be the driver of CUDA 12.4.
#include "runtime/devices/cuda/DriverApi.h"

using ingot::cuda::DriverResult;

extern "C" __attribute__((visibility("default"))) DriverResult
cuDriverGetVersion(int32_t *version) {
  *version = 12040;
  return DriverResult::Success;
}
