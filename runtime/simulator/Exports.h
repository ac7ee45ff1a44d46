// SPDX-License-Identifier: Apache-2.0
// Declarations of every exported function, made from the shared list, so that a definition of
// another type does not compile.
#pragma once

#include "runtime/simulator/Driver.h"

using namespace ingot::cuda;
using ingot::simulator::Driver;

extern "C" {
#define INGOT_DRIVER_EXPORT(name, ...)                                                             \
  __attribute__((visibility("default"))) DriverResult name(__VA_ARGS__);
INGOT_DRIVER_FUNCTIONS(INGOT_DRIVER_EXPORT)
INGOT_SIMULATOR_FUNCTIONS(INGOT_DRIVER_EXPORT)
#undef INGOT_DRIVER_EXPORT
}
