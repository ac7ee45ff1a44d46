// SPDX-License-Identifier: Apache-2.0
// The device of the tests of replays.
#pragma once

#include "runtime/devices/cuda/CudaDevice.h"

namespace ingot::test {

/// A simulated sm_80, for which smallRecord() is.
inline runtime::Result<std::unique_ptr<runtime::Device>> openSimulated() {
  runtime::CudaOptions options;
  options.simulate = "sm_80";
  auto opened = runtime::CudaDevice::open(options);
  if (!opened.ok())
    return std::move(opened).status();
  return std::unique_ptr<runtime::Device>(std::move(*opened));
}

} // namespace ingot::test
