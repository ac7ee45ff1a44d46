// SPDX-License-Identifier: Apache-2.0
// How long kernels take, alone, on the device's own clock.
#pragma once

#include "runtime/engine/Executor.h"

#include <functional>

namespace ingot::runtime {

/// An instruction of a program; `variant` null: a copy.
struct TimedInstruction {
  uint32_t program, instruction;
  const schema::Variant *variant;
};

double median(std::vector<double> values);

/// Times what runs at the step that the executor is at.
class KernelTimer {
public:
  KernelTimer(Executor &executor, int64_t repeats) : executor(executor), repeats(repeats) {}

  /// Median seconds of one of `instructions`, which run one after the other, so that each finds in
  /// the caches what the others left there. INGOT-E6504.
  Result<double> time(std::span<const TimedInstruction> instructions);

  /// Median seconds of `work`. INGOT-E6504.
  Result<double> time(const std::function<void()> &work);

private:
  Result<double> once(const std::function<void()> &work);

  Executor &executor;
  int64_t repeats;
};

} // namespace ingot::runtime
