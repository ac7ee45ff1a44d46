// SPDX-License-Identifier: Apache-2.0
// Runs the launches of a record on a device: one by one beside what is recorded, and many as one
// graph beside what they gave one by one.
#pragma once

#include "runtime/devices/Device.h"
#include "tests/gpu/LaunchImage.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::record {

using OpenDevice = std::function<runtime::Result<std::unique_ptr<runtime::Device>>()>;

/// Launches [first, last) of a list of launches, small enough for one graph.
struct Chunk {
  size_t first, last;
};

/// What became of a graph.
struct GraphOutcome {
  std::string error; ///< empty: all launches left the same bits as alone, both times
  size_t launch = 0; ///< of the record: the first that left others
  int pass = 0;      ///< 1: the first time the graph ran, 2: its replay
  uint64_t byte = 0; ///< of the launch's image
  bool deviceFailed = false;
};

/// A device with the kernels of a record that it has loaded.
class Replayer {
public:
  explicit Replayer(const RecordT &record) : record(record), kernels(record.kernels.size()) {}

  /// INGOT-E7031 when the device is of another architecture than the record; errors of opening.
  runtime::Status open(const OpenDevice &open);
  const runtime::Device &openedDevice() const { return *device; }

  /// Runs launch `index` alone and compares what it leaves.
  Outcome run(size_t index);
  /// Median seconds of the launch that has just been run, within a graph of repeats that lasts long
  /// enough for the device's clock; the first time behind launches of `warmUp` seconds. In the
  /// simulator the seconds of one launch on the host. INGOT-E650x.
  runtime::Result<double> time(size_t index, double warmUp);

  /// Runs `launches` of the record one by one, then as one graph, twice. They share a workspace, as
  /// in an engine, and have buffers of their own.
  GraphOutcome runGraph(std::span<const size_t> launches);

  /// Consecutive pieces of `launches` for `runGraph`.
  static std::vector<Chunk> chunksOf(const RecordT &record, std::span<const size_t> launches);

private:
  runtime::Status reserve(uint64_t bytes);
  runtime::Status load(uint32_t kernel);
  void launch(const LaunchT &launch, const Layout &layout, uint8_t *base, uint8_t *workspace);

  const RecordT &record;
  std::unique_ptr<runtime::Device> device;
  std::vector<std::optional<runtime::DeviceKernel>> kernels;
  uint8_t *memory = nullptr;
  uint64_t reserved = 0;
  bool warm = false;
};

} // namespace ingot::record
