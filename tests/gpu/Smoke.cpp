// SPDX-License-Identifier: Apache-2.0
// Steps stand in the order in which they need each other.
#include "tests/gpu/Smoke.h"

#include "runtime/tools/BandwidthProbe.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <numeric>

namespace ingot::record {

using nlohmann::json;
using runtime::CodeKind;
using runtime::Device;
using runtime::fixedPoint;
using runtime::Result;
using runtime::Status;

namespace {

constexpr uint64_t kMoved = uint64_t(1) << 20, kSimulatedProbe = uint64_t(1) << 20,
                   kProbe = uint64_t(1) << 30;

void say(const char *step, const std::string &text) {
  std::printf("  %-8s %s\n", step, runtime::printable(text).c_str());
  std::fflush(stdout);
}

Status failed(const char *step, const std::string &why) {
  return Status::error("INGOT-E7032", std::string("the device fails at '") + step + "': " + why,
                       "check driver and device with nvidia-smi");
}

/// Bytes there and back.
Status moveMemory(Device &device) {
  std::vector<uint8_t> written(kMoved), read(kMoved);
  std::iota(written.begin(), written.end(), uint8_t(1));
  Result<void *> memory = device.allocate(2 * kMoved);
  if (!memory.ok())
    return failed("memory", memory.status().toString());
  auto *first = static_cast<uint8_t *>(*memory);
  device.write(first, written.data(), kMoved);
  device.copy(first + kMoved, first, kMoved);
  device.zero(first, kMoved);
  if (Status status = device.read(read.data(), first + kMoved, kMoved); !status.ok())
    return failed("memory", status.toString());
  return read == written ? Status() : failed("memory", "bytes come back changed");
}

/// A copy of device memory by a recording, which is a graph.
Status replayCopy(Device &device) {
  constexpr uint64_t key = 1, bytes = 4096;
  std::vector<uint8_t> written(bytes, 7), read(bytes);
  Result<void *> memory = device.allocate(2 * bytes);
  if (!memory.ok())
    return failed("graph", memory.status().toString());
  auto *first = static_cast<uint8_t *>(*memory);
  for (int pass = 0; pass < 2; ++pass) {
    device.zero(first + bytes, bytes);
    device.write(first, written.data(), bytes);
    if (!device.replay(key)) {
      device.beginRecording(key);
      device.copy(first + bytes, first, bytes);
      device.endRecording();
    }
    if (Status status = device.read(read.data(), first + bytes, bytes); !status.ok())
      return failed("graph", status.toString());
    if (read != written)
      return failed("graph", "a recorded copy does not copy");
  }
  device.forget(key);
  return {};
}

/// Opens the device again for a launch of the record, alone and in a graph.
Status launchFirst(const RecordT &record, const OpenDevice &open, json &facts) {
  Replayer replayer(record);
  if (Status status = replayer.open(open); !status.ok())
    return status;
  if (record.launches.empty())
    return {};
  Outcome outcome = replayer.run(0);
  const std::string &symbol = record.kernels[record.launches[0]->kernel]->source;
  if (outcome.failed())
    return failed("launch", "kernel '" + symbol +
                                "': " + (outcome.error.empty() ? "wrong values" : outcome.error));
  Result<double> seconds = replayer.time(0, 0);
  if (!seconds.ok())
    return failed("launch", "kernel '" + symbol + "' in a graph: " + seconds.status().toString());
  facts["launch_seconds"] = *seconds;
  say("launch", symbol + ", " + fixedPoint(*seconds * 1e6, 2) + " us");
  return {};
}

} // namespace

Result<json> smokeTest(const RecordT &record, const OpenDevice &open) {
  json facts;
  {
    Result<std::unique_ptr<Device>> opened = open();
    if (!opened.ok())
      return std::move(opened).status();
    Device &device = **opened;
    bool simulated = device.loads(CodeKind::Ptx);
    uint64_t free = device.availableMemory(0, 0.95);
    facts = {{"device", device.description()},
             {"driver", device.driverVersion()},
             {"free_bytes", free},
             {"cache_bytes", device.cacheBytes()}};
    say("device", device.description() + ", driver " + std::to_string(device.driverVersion()) +
                      ", " + runtime::inBytes(free) + " to use");
    if (Status status = moveMemory(device); !status.ok())
      return status;
    say("memory", "written, copied, cleared and read");
    if (Status status = replayCopy(device); !status.ok())
      return status;
    say("graph", "recorded, run and run again");
    auto probe = runtime::BandwidthProbe::create(device, simulated ? kSimulatedProbe : kProbe, 1);
    if (!probe.ok())
      return failed("copy", probe.status().toString());
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) {
      Result<double> rate = (*probe)->measure();
      if (!rate.ok())
        return failed("copy", rate.status().toString());
      rates.push_back(*rate);
    }
    std::ranges::nth_element(rates, rates.begin() + 2);
    facts["copy_bytes_per_second"] = rates[2];
    say("copy", fixedPoint(rates[2] / 1e9, 1) + " GB/s, bytes read and written");
  }
  if (Status status = launchFirst(record, open, facts); !status.ok())
    return status;
  return facts;
}

} // namespace ingot::record
