// SPDX-License-Identifier: Apache-2.0
// Work by kind, and the row that tells of it.
#include "runtime/tools/CheckProgress.h"

#include "runtime/tools/Table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace ingot::runtime {

/// Work that takes less is not told of; the first seconds also give the first estimate.
static constexpr double kQuietSeconds = 2;
/// Seconds between two looks of a terminal's row, and between two lines elsewhere.
static constexpr double kRowSeconds = 0.25, kLineSeconds = 30;
static constexpr int kBarWidth = 32;

/// "8 s", "4 min", "3 h 20 min"
static std::string inWords(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  auto whole = [](double value) { return std::to_string(std::llround(value)); };
  if (seconds < 2 * kMinute)
    return whole(std::ceil(seconds)) + " s";
  if (seconds < 2 * kHour)
    return whole(seconds / kMinute) + " min";
  return whole(std::floor(seconds / kHour)) + " h " +
         whole(std::floor(std::fmod(seconds, kHour) / kMinute)) + " min";
}

WorkKind WorkKind::of(const DeviceLaunch &launch) {
  return {std::string(launch.operation), {launch.grid[0], launch.grid[1], launch.grid[2]}};
}

void WorkEstimate::add(const WorkKind &kind, double seconds) {
  done += seconds;
  kinds[kind].add(seconds, 1);
  auto found = expected.find(kind);
  if (found == expected.end())
    return;
  for (const CheckedLaunch &launch : found->second.launches)
    all.add(0, launch.threads);
  all.add(seconds, 0);
  // What a recording takes says nothing of one of its operations.
  if (found->second.launches.size() == 1)
    operations[kind.operation].add(seconds, found->second.launches[0].threads);
}

double WorkEstimate::secondsLeft() const {
  double left = 0;
  for (const auto &[kind, amount] : expected) {
    auto timed = kinds.find(kind);
    const double times = timed == kinds.end() ? 0 : timed->second.amount;
    double each = 0;
    if (times > 0)
      each = timed->second.each();
    else
      for (const CheckedLaunch &launch : amount.launches) {
        auto operation = operations.find(launch.operation);
        each += launch.threads *
                (operation == operations.end() ? all.each() : operation->second.each());
      }
    left += each * std::max(0.0, double(amount.times) - times);
  }
  return left;
}

Result<void *> CountingDevice::allocate(uint64_t bytes) {
  constexpr uint64_t kAlignment = 4096;
  nextAddress += kAlignment;
  auto *memory = reinterpret_cast<void *>(nextAddress);
  nextAddress += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return memory;
}

Result<DeviceKernel> CountingDevice::kernel(size_t, const std::string &symbol,
                                            const KernelShape &shape) {
  return DeviceKernel{this, shape, symbol};
}

void CountingDevice::launch(const DeviceLaunch &launch) {
  const KernelShape &shape = launch.kernel->shape;
  double threads = 1;
  for (int i = 0; i < 3; ++i)
    threads *= double(std::max<int64_t>(launch.grid[i], 1)) * shape.block[i];
  const WorkKind kind = WorkKind::of(launch);
  if (recording) {
    recording->launches.push_back({kind.operation, threads});
    return;
  }
  WorkAmount &amount = counted[kind];
  ++amount.times;
  amount.launches = {{kind.operation, threads}};
}

Status CountingDevice::read(void *hostDestination, const void *, uint64_t bytes) {
  std::memset(hostDestination, 0, bytes);
  return {};
}

Status CountingDevice::finishRead(void *hostDestination) {
  std::memset(hostDestination, 0, started.front());
  started.pop_front();
  return {};
}

bool CountingDevice::replay(uint64_t key) {
  if (!recorded.contains(key))
    return false;
  ++counted[WorkKind::of(key)].times;
  return true;
}

void CountingDevice::beginRecording(uint64_t key) {
  recorded.insert(key);
  recording = &counted[WorkKind::of(key)];
  ++recording->times;
  recording->launches.clear();
}

double CheckProgress::seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CheckProgress::CheckProgress(std::unique_ptr<Device> device, WorkTotals expected, Clock clock)
    : ForwardingDevice(std::move(device)), clock(clock), estimate(std::move(expected)),
      isTerminal(isatty(STDERR_FILENO) == 1), next(kQuietSeconds) {}

void CheckProgress::clear() {
  if (isShown)
    std::fputs("\r\033[K", stderr);
  isShown = false;
}

void CheckProgress::launch(const DeviceLaunch &launch) {
  const double start = clock();
  ForwardingDevice::launch(launch);
  if (!records)
    ran(WorkKind::of(launch), start);
}

bool CheckProgress::replay(uint64_t key) {
  const double start = clock();
  const bool isKnown = ForwardingDevice::replay(key);
  if (isKnown)
    ran(WorkKind::of(key), start);
  return isKnown;
}

void CheckProgress::beginRecording(uint64_t key) {
  records = true;
  recording = WorkKind::of(key);
  recordingStart = clock();
  ForwardingDevice::beginRecording(key);
}

void CheckProgress::endRecording() {
  ForwardingDevice::endRecording();
  records = false;
  ran(recording, recordingStart);
}

void CheckProgress::ran(const WorkKind &kind, double since) {
  estimate.add(kind, clock() - since);
  const double done = estimate.secondsDone();
  if (done < next)
    return;
  next = done + (isTerminal ? kRowSeconds : kLineSeconds);
  tell(done, estimate.secondsLeft());
}

void CheckProgress::tell(double done, double left) {
  const double share = done / (done + left);
  const int percent = int(100 * share);
  if (isTerminal) {
    const std::string bar(size_t(share * kBarWidth), '#');
    std::fprintf(stderr, "\r\033[K%-10s [%-*s] %3d%%, about %s left", "checking", kBarWidth,
                 bar.c_str(), percent, inWords(left).c_str());
    isShown = true;
  } else if (isFirst) {
    std::fprintf(stderr, "checking takes about %s\n", inWords(done + left).c_str());
  } else {
    std::fprintf(stderr, "checking: %d%%, about %s left\n", percent, inWords(left).c_str());
  }
  isFirst = false;
  std::fflush(stderr);
}

} // namespace ingot::runtime
