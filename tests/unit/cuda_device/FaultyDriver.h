// SPDX-License-Identifier: Apache-2.0
// A driver whose calls are counted and fail when a test says so; the rest is the simulator's.
#pragma once

#include "runtime/devices/cuda/Driver.h"

#include <array>

namespace ingot::test {

enum class Call : size_t {
#define INGOT_CALL(name, ...) name,
  INGOT_DRIVER_FUNCTIONS(INGOT_CALL)
#undef INGOT_CALL
      Count
};

/// What a test plants in one function, and how often it was called.
struct Plant {
  int calls = 0;
  int good = 0; ///< calls that still succeed
  cuda::DriverResult result = cuda::DriverResult::Success;
};

/// One for each function; of the process, as the functions have no place for an argument.
inline std::array<Plant, size_t(Call::Count)> plants;

inline Plant &plantOf(Call call) { return plants[size_t(call)]; }

/// From now on `call` fails with `result` after `good` more calls.
inline void plant(Call call, cuda::DriverResult result, int good = 0) {
  plantOf(call).good = good;
  plantOf(call).result = result;
}

inline int callsOf(Call call) { return plantOf(call).calls; }

/// Calls of all functions but those that name errors.
inline int allCalls() {
  int sum = 0;
  for (size_t i = 0; i < plants.size(); ++i)
    if (i != size_t(Call::cuGetErrorName) && i != size_t(Call::cuGetErrorString))
      sum += plants[i].calls;
  return sum;
}

template <Call call, class... Parameters> struct Planted {
  static inline cuda::DriverResult (*real)(Parameters...) = nullptr;
  static cuda::DriverResult run(Parameters... parameters) {
    Plant &plant = plantOf(call);
    ++plant.calls;
    if (plant.result != cuda::DriverResult::Success && plant.good-- <= 0)
      return plant.result;
    return real(parameters...);
  }
};

template <Call call, class... Parameters>
void interpose(cuda::DriverResult (*&function)(Parameters...)) {
  Planted<call, Parameters...>::real = function;
  function = &Planted<call, Parameters...>::run;
}

/// Puts the planted functions before those of `driver`; forgets what was planted before.
inline void makeFaulty(runtime::Driver &driver) {
  plants = {};
#define INGOT_INTERPOSE(name, ...) interpose<Call::name>(driver.name);
  INGOT_DRIVER_FUNCTIONS(INGOT_INTERPOSE)
#undef INGOT_INTERPOSE
}

} // namespace ingot::test
