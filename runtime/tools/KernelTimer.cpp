// SPDX-License-Identifier: Apache-2.0
// Passes over instructions, as recordings where the device has them, long enough for its clock.
#include "runtime/tools/KernelTimer.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {

namespace {

/// A pass lasts as long as this at least, so that the ends of the clock do not count.
constexpr double kLeastSeconds = 1e-3;
constexpr int64_t kMostLaunches = 512;
/// A first run that takes so long is no matter of loading code.
constexpr double kLong = 0.05;
/// No program's recordings use this key (Executor::run).
constexpr uint64_t kRecording = uint64_t(1) << 63;

} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<double> KernelTimer::once(const std::function<void()> &work) {
  Device &device = executor.device();
  if (Status status = device.startTimer(); !status.ok())
    return status;
  work();
  return device.stopTimer();
}

Result<double> KernelTimer::time(const std::function<void()> &work) {
  std::vector<double> seconds;
  for (int64_t i = 0; i < repeats; ++i) {
    Result<double> measured = once(work);
    if (!measured.ok())
      return measured;
    seconds.push_back(*measured);
  }
  return median(std::move(seconds));
}

Result<double> KernelTimer::time(std::span<const TimedInstruction> instructions) {
  Device &device = executor.device();
  auto pass = [&] {
    for (const TimedInstruction &one : instructions)
      if (one.variant)
        executor.runVariant(one.program, one.instruction, *one.variant);
      else
        executor.runPart(one.program, one.instruction, 1);
  };
  Result<double> estimate = once(pass);
  if (estimate.ok() && *estimate < kLong)
    estimate = once(pass);
  if (!estimate.ok())
    return estimate;
  int64_t most = std::max<int64_t>(1, kMostLaunches / int64_t(instructions.size()));
  int64_t passes = *estimate > kLeastSeconds / double(most)
                       ? int64_t(std::ceil(kLeastSeconds / *estimate))
                       : most;
  auto recorded = [&] {
    if (device.replay(kRecording))
      return;
    device.beginRecording(kRecording);
    for (int64_t i = 0; i < passes; ++i)
      pass();
    device.endRecording();
  };
  recorded();
  Result<double> seconds = time(recorded);
  device.forget(kRecording);
  if (!seconds.ok())
    return seconds;
  return *seconds / double(passes) / double(instructions.size());
}

} // namespace ingot::runtime
