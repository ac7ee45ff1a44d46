// SPDX-License-Identifier: Apache-2.0
// All buffers of a launch lie in one piece of device memory; one copy fills it and one reads it.
#include "tests/gpu/Replay.h"

#include <algorithm>
#include <cmath>

namespace ingot::record {

using runtime::CodeKind;
using runtime::Device;
using runtime::Result;
using runtime::Status;

namespace {

/// Keys of recordings; each is forgotten before it is used again.
constexpr uint64_t kTimed = 1, kGraph = 2;
/// A timed pass lasts so long, and this many are timed.
constexpr double kPassSeconds = 4e-4;
constexpr int64_t kMostRepeats = 200, kPasses = 5;
/// Of a graph.
constexpr size_t kMostLaunches = 64;
constexpr uint64_t kMostGraphBytes = uint64_t(256) << 20;

} // namespace

Status Replayer::open(const OpenDevice &open) {
  device.reset(); // a failed context ends before the next one begins
  Result<std::unique_ptr<Device>> opened = open();
  if (!opened.ok())
    return std::move(opened).status();
  device = std::move(*opened);
  std::fill(kernels.begin(), kernels.end(), std::nullopt);
  reserved = 0;
  warm = false;
  if (device->architecture() != record.architecture)
    return Status::error("INGOT-E7031",
                         "the record is for " + record.architecture + " and this device is " +
                             device->description(),
                         "record for its architecture");
  return {};
}

/// Makes `memory` hold so many bytes; what it held before is lost.
Status Replayer::reserve(uint64_t bytes) {
  if (bytes <= reserved)
    return {};
  // A device keeps what it has allocated: few and ever larger pieces.
  bytes = std::max(bytes, 2 * reserved);
  Result<void *> allocated = device->allocate(bytes);
  if (!allocated.ok())
    return std::move(allocated).status();
  memory = static_cast<uint8_t *>(*allocated);
  reserved = bytes;
  return {};
}

Status Replayer::load(uint32_t index) {
  if (kernels[index])
    return {};
  const KernelT &kernel = *record.kernels[index];
  uint32_t code = device->loads(CodeKind::Ptx) ? kernel.ptx : kernel.cubin;
  if (record.blobs[code]->bytes.empty())
    return Status::error("INGOT-E7030",
                         "the record has no code of kernel '" + kernel.symbol + "' for this device",
                         "a simulator needs PTX: make the record again without --no-ptx");
  Result<size_t> library = device->loadLibrary(record.blobs[code]->bytes, kernel.symbol);
  if (!library.ok())
    return std::move(library).status();
  runtime::KernelShape shape;
  const Extent &block = *kernel.block, &cluster = *kernel.cluster;
  for (auto [to, from] : {std::pair{shape.block, block}, {shape.cluster, cluster}}) {
    to[0] = from.x();
    to[1] = from.y();
    to[2] = from.z();
  }
  shape.sharedBytes = kernel.shared_bytes;
  for (const auto &map : kernel.tensor_maps)
    shape.tensorMaps.push_back({map->buffer, map->rows, map->row_bytes, map->box_rows,
                                map->box_bytes, ElementType(map->element), map->swizzle});
  Result<runtime::DeviceKernel> loaded = device->kernel(*library, kernel.symbol, shape);
  if (!loaded.ok())
    return std::move(loaded).status();
  kernels[index] = *loaded;
  return {};
}

/// `workspace`: where it lies if not among the buffers of the layout.
void Replayer::launch(const LaunchT &launch, const Layout &layout, uint8_t *base,
                      uint8_t *workspace) {
  std::vector<void *> buffers;
  for (uint64_t offset : layout.offsets)
    buffers.push_back(base + offset);
  if (launch.workspace_bytes >= 0 && !layout.hasWorkspace(launch))
    buffers.push_back(workspace);
  device->launch({&*kernels[launch.kernel],
                  buffers,
                  launch.scalars,
                  {launch.grid->x(), launch.grid->y(), launch.grid->z()}});
}

Outcome Replayer::run(size_t index) {
  const LaunchT &launch = *record.launches[index];
  Layout layout(record, launch, true);
  std::vector<uint8_t> image(layout.bytes);
  fillImage(record, launch, layout, image);
  Status status = load(launch.kernel);
  if (status.ok())
    status = reserve(layout.bytes);
  if (status.ok()) {
    device->write(memory, image.data(), image.size());
    this->launch(launch, layout, memory, nullptr);
    status = device->read(image.data(), memory, image.size());
  }
  if (status.ok())
    return compareImage(record, launch, layout, image);
  Outcome outcome;
  outcome.error = status.toString();
  outcome.deviceFailed = true;
  return outcome;
}

//===- Timing -------------------------------------------------------------------------------===//

Result<double> Replayer::time(size_t index, double warmUp) {
  const LaunchT &launch = *record.launches[index];
  Layout layout(record, launch, true);
  std::vector<uint8_t> image(layout.bytes);
  fillImage(record, launch, layout, image);
  device->write(memory, image.data(), image.size());
  auto timed = [&](auto &&work) -> Result<double> {
    if (Status status = device->startTimer(); !status.ok())
      return status;
    work();
    return device->stopTimer();
  };
  auto once = [&] { this->launch(launch, layout, memory, nullptr); };
  Result<double> estimate = timed(once);
  if (!estimate.ok() || device->loads(CodeKind::Ptx))
    return estimate;
  for (double spent = 0; !warm && spent < warmUp;) {
    Result<double> seconds = timed([&] {
      for (int i = 0; i < kPasses; ++i)
        once();
    });
    if (!seconds.ok())
      return seconds;
    spent += std::max(*seconds, 1e-5); // however coarse its clock
    estimate = *seconds / kPasses;
  }
  warm = true;
  int64_t repeats = std::clamp(int64_t(std::ceil(kPassSeconds / std::max(*estimate, 1e-9))),
                               int64_t(1), kMostRepeats);
  std::vector<double> passes;
  for (int i = 0; i <= kPasses; ++i) {
    Result<double> seconds = timed([&] {
      if (device->replay(kTimed))
        return;
      device->beginRecording(kTimed);
      for (int64_t j = 0; j < repeats; ++j)
        once();
      device->endRecording();
    });
    if (!seconds.ok())
      return seconds;
    if (i > 0) // the first one records
      passes.push_back(*seconds);
  }
  device->forget(kTimed);
  std::nth_element(passes.begin(), passes.begin() + kPasses / 2, passes.end());
  return passes[kPasses / 2] / double(repeats);
}

//===- Graphs -------------------------------------------------------------------------------===//

namespace {

/// Where the launches of a graph stand, each in one piece of memory, and behind them a workspace.
struct GraphLayout {
  std::vector<Layout> layouts;
  std::vector<uint64_t> bases;
  uint64_t images = 0, counters = 0, workspace = 0; ///< bytes

  GraphLayout(const RecordT &record, std::span<const size_t> launches) {
    for (size_t index : launches) {
      const LaunchT &launch = *record.launches[index];
      bases.push_back(images);
      layouts.emplace_back(record, launch, false);
      images += layouts.back().bytes;
      counters = std::max(counters, launch.counter_bytes);
      workspace = std::max(workspace, uint64_t(std::max<int64_t>(launch.workspace_bytes, 0)));
    }
  }
  uint64_t bytes() const { return images + workspace; }
};

} // namespace

std::vector<Chunk> Replayer::chunksOf(const RecordT &record, std::span<const size_t> launches) {
  std::vector<Chunk> chunks;
  uint64_t bytes = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const LaunchT &launch = *record.launches[launches[i]];
    uint64_t own = Layout(record, launch, false).bytes;
    if (chunks.empty() || bytes + own > kMostGraphBytes ||
        i - chunks.back().first == kMostLaunches) {
      chunks.push_back({i, i});
      bytes = 0;
    }
    bytes += own;
    chunks.back().last = i + 1;
  }
  return chunks;
}

GraphOutcome Replayer::runGraph(std::span<const size_t> launches) {
  GraphLayout layout(record, launches);
  GraphOutcome outcome;
  Status status = reserve(layout.bytes());
  for (size_t index : launches)
    if (status.ok())
      status = load(record.launches[index]->kernel);
  std::vector<uint8_t> before(layout.images), alone(layout.images), found(layout.images);
  for (size_t i = 0; i < launches.size(); ++i)
    fillImage(record, *record.launches[launches[i]], layout.layouts[i],
              std::span(before).subspan(layout.bases[i], layout.layouts[i].bytes));
  auto launchOne = [&](size_t i) {
    launch(*record.launches[launches[i]], layout.layouts[i], memory + layout.bases[i],
           memory + layout.images);
  };
  auto prepare = [&] {
    device->write(memory, before.data(), before.size());
    if (layout.counters)
      device->zero(memory + layout.images, layout.counters);
  };
  auto passes = [&]() -> Status {
    prepare();
    for (size_t i = 0; i < launches.size(); ++i) {
      launchOne(i);
      uint64_t bytes = layout.layouts[i].bytes; // reading waits: nothing overlaps
      if (Status read =
              device->read(alone.data() + layout.bases[i], memory + layout.bases[i], bytes);
          !read.ok())
        return read;
    }
    for (outcome.pass = 1; outcome.pass <= 2; ++outcome.pass) {
      prepare();
      if (!device->replay(kGraph)) {
        device->beginRecording(kGraph);
        for (size_t i = 0; i < launches.size(); ++i)
          launchOne(i);
        device->endRecording();
      }
      if (Status read = device->read(found.data(), memory, found.size()); !read.ok())
        return read;
      if (found != alone)
        return {};
    }
    return {};
  };
  if (status.ok())
    status = passes();
  if (!status.ok()) {
    outcome.error = status.toString();
    outcome.deviceFailed = true;
    return outcome;
  }
  device->forget(kGraph);
  auto [at, expected] = std::ranges::mismatch(found, alone);
  if (at == found.end())
    return outcome;
  auto byte = uint64_t(at - found.begin());
  size_t i = size_t(std::ranges::upper_bound(layout.bases, byte) - layout.bases.begin()) - 1;
  outcome.launch = launches[i];
  outcome.byte = byte - layout.bases[i];
  outcome.error = "in a graph it leaves other bits than alone";
  return outcome;
}

} // namespace ingot::record
