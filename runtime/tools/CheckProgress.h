// SPDX-License-Identifier: Apache-2.0
// How far checks on a slow device are: their work is counted first, then timed while it is done.
#pragma once

#include "runtime/tools/ForwardingDevice.h"

#include <array>
#include <deque>
#include <map>
#include <set>

namespace ingot::runtime {

/// One launch: the instruction's name, and the threads of all its blocks.
struct CheckedLaunch {
  std::string operation;
  double threads = 0;
};

/// What a device runs at once, by the seconds that it takes: a launch by operation and grid, or a
/// recording, which has no operation, by its key.
struct WorkKind {
  std::string operation;
  std::array<int64_t, 3> grid{};

  static WorkKind of(const DeviceLaunch &launch);
  static WorkKind of(uint64_t recording) { return {"", {int64_t(recording), 0, 0}}; }
  auto operator<=>(const WorkKind &) const = default;
};

/// How often each kind is run, and what it consists of.
struct WorkAmount {
  uint64_t times = 0;
  std::vector<CheckedLaunch> launches{};
};
using WorkTotals = std::map<WorkKind, WorkAmount>;

/// Seconds that work will take, from those that work of its kind took; of a kind that was not seen
/// yet, from its launches' operations, and last from threads.
class WorkEstimate {
public:
  explicit WorkEstimate(WorkTotals expected) : expected(std::move(expected)) {}

  void add(const WorkKind &kind, double seconds);
  double secondsDone() const { return done; }
  /// Of what was expected and is not done.
  double secondsLeft() const;

private:
  struct Pace {
    double seconds = 0, amount = 0; ///< amount: times, or threads
    void add(double more, double of) {
      seconds += more;
      amount += of;
    }
    double each() const { return amount > 0 ? seconds / amount : 0; }
  };

  WorkTotals expected;
  std::map<WorkKind, Pace> kinds;
  std::map<std::string, Pace> operations;
  Pace all;
  double done = 0;
};

/// Computes nothing and counts what it is asked to: all that is read from it is zero, so that
/// whatever takes its steps by lengths, not by values, takes those that it takes on `device`.
class CountingDevice final : public ForwardingDevice {
public:
  explicit CountingDevice(Device &device) : ForwardingDevice(device) {}

  const WorkTotals &totals() const { return counted; }

  Status start(int64_t, uint64_t) override { return {}; }
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> adopt(std::span<const uint8_t> bytes) override {
    return const_cast<uint8_t *>(bytes.data());
  }
  Result<size_t> loadLibrary(std::span<const uint8_t>, const std::string &) override { return 0; }
  Result<DeviceKernel> kernel(size_t library, const std::string &symbol,
                              const KernelShape &shape) override;
  void launch(const DeviceLaunch &launch) override;
  void copy(void *, const void *, uint64_t) override {}
  void zero(void *, uint64_t) override {}
  void write(void *, const void *, uint64_t) override {}
  Status read(void *hostDestination, const void *source, uint64_t bytes) override;
  void startRead(const void *, uint64_t bytes) override { started.push_back(bytes); }
  Status finishRead(void *hostDestination) override;
  bool replay(uint64_t key) override;
  void beginRecording(uint64_t key) override;
  void endRecording() override { recording = nullptr; }
  void forget(uint64_t key) override { recorded.erase(key); }

private:
  WorkTotals counted;
  WorkAmount *recording = nullptr;
  std::set<uint64_t> recorded;
  std::deque<uint64_t> started; ///< bytes of reads
  uint64_t nextAddress = 0;     ///< of memory that is never touched
};

/// Times what another device runs, which must be done when a call returns, and tells on standard
/// error what share is done and how long the rest takes: on a terminal in a row that it overwrites,
/// elsewhere in a line now and then.
class CheckProgress final : public ForwardingDevice {
public:
  using Clock = double (*)(); ///< seconds since some time

  CheckProgress(std::unique_ptr<Device> device, WorkTotals expected, Clock clock = seconds);
  ~CheckProgress() override { clear(); }

  /// Takes the row away, for other lines.
  void clear();

  void launch(const DeviceLaunch &launch) override;
  bool replay(uint64_t key) override;
  void beginRecording(uint64_t key) override;
  void endRecording() override;

private:
  static double seconds();
  void ran(const WorkKind &kind, double since);
  void tell(double done, double left);

  Clock clock;
  WorkEstimate estimate;
  WorkKind recording;
  double recordingStart = 0;
  bool records = false, isTerminal, isShown = false, isFirst = true;
  double next = 0; ///< seconds of work at which it is written again
};

} // namespace ingot::runtime
