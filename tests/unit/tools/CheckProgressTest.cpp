// SPDX-License-Identifier: Apache-2.0
// What checks will take: counted without a device's work, estimated from the work that was done.
#include "runtime/tools/CheckProgress.h"
#include "runtime/devices/host/HostDevice.h"
#include "runtime/serving/Session.h"
#include "runtime/tools/InvarianceCheck.h"
#include "tests/unit/engine/ToyEngine.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using namespace ingot::runtime;
using testing::HasSubstr;

namespace {

/// Counts what the device behind it is asked to run, by operation and grid.
struct SeenDevice final : ForwardingDevice {
  SeenDevice(std::unique_ptr<Device> device, std::map<WorkKind, uint64_t> &seen)
      : ForwardingDevice(std::move(device)), seen(seen) {}
  void launch(const DeviceLaunch &launch) override {
    ++seen[WorkKind::of(launch)];
    ForwardingDevice::launch(launch);
  }
  std::map<WorkKind, uint64_t> &seen;
};

/// Runs checks on `device`, and `then` while it lives.
void check(std::unique_ptr<Device> device, const std::function<void()> &then) {
  AlignedBytes bytes(makeToyEngine());
  auto file = EngineFile::openBytes(bytes.view(), ".");
  ASSERT_TRUE(file.ok());
  auto session = Session::createOn(std::move(device), *file, {});
  ASSERT_TRUE(session.ok());
  Verdict verdict([](const std::string &) {});
  ASSERT_TRUE(checkBatches(**session, kHostSizes, verdict).ok());
  ASSERT_TRUE(checkSteps(**session, kHostSizes, verdict).ok());
  ASSERT_TRUE(checkReuse(**session, kHostSizes, verdict).ok());
  EXPECT_TRUE(verdict.status().ok());
  then();
}

WorkAmount launches(uint64_t times, std::string operation, double threads) {
  return {times, {{std::move(operation), threads}}};
}

double now = 0;

/// A device whose launches take a second for a tile.
struct SlowDevice final : HostDevice {
  SlowDevice() : HostDevice(1) {}
  void launch(const DeviceLaunch &launch) override { now += double(launch.grid[0]); }
};

} // namespace

TEST(CheckProgressTest, CountsTheLaunchesThatWillBe) {
  std::map<WorkKind, uint64_t> seen;
  check(std::make_unique<SeenDevice>(std::make_unique<HostDevice>(1), seen), [] {});
  HostDevice unused(1);
  auto counting = std::make_unique<CountingDevice>(unused);
  const CountingDevice *device = counting.get();
  WorkTotals counted;
  check(std::move(counting), [&] { counted = device->totals(); });
  // A recording stands for its launches; the host makes them anew.
  std::map<std::string, uint64_t> expected, found;
  for (const auto &[kind, times] : seen)
    expected[kind.operation] += times;
  for (const auto &[kind, amount] : counted)
    for (const CheckedLaunch &launch : amount.launches)
      found[launch.operation] += amount.times;
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(found, expected);
}

TEST(CheckProgressTest, EstimatesByKindThenOperationThenThreads) {
  WorkTotals work;
  const WorkKind one{"a", {1, 1, 1}}, two{"a", {2, 1, 1}}, other{"b", {1, 1, 1}};
  const WorkKind recording = WorkKind::of(7);
  work[one] = launches(3, "a", 10);
  work[two] = launches(1, "a", 20);
  work[other] = launches(1, "b", 100);
  work[recording] = {2, {{"a", 10}, {"b", 100}}};
  WorkEstimate estimate(work);
  estimate.add(one, 2);
  // Two more of its kind, one of its operation that has as many threads again, and others by
  // threads, of which ten took two seconds.
  EXPECT_DOUBLE_EQ(estimate.secondsDone(), 2);
  EXPECT_DOUBLE_EQ(estimate.secondsLeft(), 2 * 2 + 4 + 20 + 2 * (2 + 20));
  estimate.add(recording, 5);
  EXPECT_DOUBLE_EQ(estimate.secondsLeft(), 2 * 2 + 4 + 100 * 7.0 / 120 + 5);
  for (const WorkKind &kind : {one, one, two, other, recording, recording})
    estimate.add(kind, 1);
  EXPECT_DOUBLE_EQ(estimate.secondsLeft(), 0);
}

TEST(CheckProgressTest, TellsHowLongFirstAndThenNowAndThen) {
  now = 0;
  WorkTotals work;
  work[{"slow", {5, 1, 1}}] = launches(40, "slow", 5);
  work[{"quick", {1, 1, 1}}] = launches(1, "quick", 1);
  CheckProgress progress(std::make_unique<SlowDevice>(), work, [] { return now; });
  DeviceKernel kernel;
  auto run = [&](const char *operation, int64_t tiles) {
    testing::internal::CaptureStderr();
    progress.launch({&kernel, {}, {}, {tiles, 1, 1}, operation});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(run("quick", 1), "");
  EXPECT_EQ(run("slow", 5), "checking takes about 3 min\n");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(run("slow", 5), "");
  EXPECT_EQ(run("slow", 5), "checking: 17%, about 3 min left\n");
  for (int i = 0; i < 17; ++i)
    run("slow", 5);
  EXPECT_EQ(run("slow", 5), "checking: 62%, about 75 s left\n");
}
