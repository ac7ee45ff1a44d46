// SPDX-License-Identifier: Apache-2.0
// All buffers of a launch lie in one piece of device memory, with margins that show a write beside
// a buffer; one copy fills it and one reads it.
#include "tests/gpu/Replay.h"

#include "tests/gpu/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ingot::record {

using runtime::CodeKind;
using runtime::Device;
using runtime::Result;
using runtime::Status;

namespace {

constexpr uint64_t kAlignment = 256, kMargin = 256;
constexpr uint8_t kMarginByte = 0xcb, kUnwrittenByte = 0xff;

/// Where the buffers of a launch stand, then its workspace.
struct Layout {
  std::vector<uint64_t> offsets, sizes;
  uint64_t bytes = kMargin;

  explicit Layout(const RecordT &record, const LaunchT &launch) {
    for (const auto &buffer : launch.buffers)
      add(record.blobs[buffer->input != kNone ? buffer->input : buffer->output]->bytes.size());
    if (launch.workspace_bytes >= 0)
      add(uint64_t(launch.workspace_bytes));
  }

private:
  void add(uint64_t size) {
    offsets.push_back(bytes);
    sizes.push_back(size);
    bytes += (size + kAlignment - 1) / kAlignment * kAlignment + kMargin;
  }
};

/// Compares one buffer with its record.
class BufferComparison {
public:
  BufferComparison(const RecordT &record, size_t index, const BufferT &buffer,
                   std::span<const uint8_t> found, Outcome &outcome)
      : index(index), buffer(buffer), found(found),
        recorded(record.blobs[buffer.output != kNone ? buffer.output : buffer.input]->bytes),
        tolerances(buffer.tolerances != kNone ? record.blobs[buffer.tolerances]->bytes.data()
                                              : nullptr),
        outcome(outcome) {}

  void compare() {
    if (std::equal(found.begin(), found.end(), recorded.begin()))
      return;
    outcome.bitEqual = false;
    std::vector<bool> byValue(found.size());
    uint64_t element = 0;
    for (const auto &values : buffer.values) {
      uint64_t size = elementBytes(values->element);
      mark(byValue, values->offset, values->count * size);
      if (values->scale_columns)
        mark(byValue, values->scales, values->count / values->scale_columns * sizeof(float));
      for (uint64_t i = 0; i < values->count; ++i, ++element)
        compareValue(*values, i, element);
    }
    for (size_t i = 0; i < found.size(); ++i)
      if (!byValue[i] && found[i] != recorded[i])
        note(i, recorded[i], found[i], 0);
  }

private:
  static void mark(std::vector<bool> &bytes, uint64_t first, uint64_t count) {
    std::fill_n(bytes.begin() + int64_t(first), count, true);
  }

  void compareValue(const ValuesT &values, uint64_t i, uint64_t element) {
    uint64_t at = values.offset + i * elementBytes(values.element);
    double wanted = elementValue(values.element, recorded.data() + at);
    double got = elementValue(values.element, found.data() + at);
    if (values.scale_columns) {
      uint64_t scale = values.scales + i / values.scale_columns * sizeof(float);
      wanted *= elementValue(Element::F32, recorded.data() + scale);
      got *= elementValue(Element::F32, found.data() + scale);
    }
    note(element, wanted, got, elementValue(Element::F32, tolerances + element * sizeof(float)));
  }

  void note(uint64_t element, double wanted, double got, double tolerance) {
    if (wanted == got || (std::isnan(wanted) && std::isnan(got)))
      return;
    double distance = std::abs(got - wanted);
    bool outside = !(distance <= tolerance);
    outcome.worst = std::max(outcome.worst, tolerance > 0 && !std::isnan(distance)
                                                ? distance / tolerance
                                                : std::numeric_limits<double>::infinity());
    if (!outcome.first || (outside && !outcome.first->outside))
      outcome.first = Difference{index, element, wanted, got, tolerance, outside};
  }

  size_t index;
  const BufferT &buffer;
  std::span<const uint8_t> found;
  const std::vector<uint8_t> &recorded;
  const uint8_t *tolerances;
  Outcome &outcome;
};

/// A device with memory for the largest launch, and the kernels that it has loaded.
class Replayer {
public:
  explicit Replayer(const RecordT &record) : record(record), kernels(record.kernels.size()) {
    for (const auto &launch : record.launches)
      largest = std::max(largest, Layout(record, *launch).bytes);
  }

  Status open(const OpenDevice &open) {
    device.reset(); // a failed context ends before the next one begins
    Result<std::unique_ptr<Device>> opened = open();
    if (!opened.ok())
      return std::move(opened).status();
    device = std::move(*opened);
    std::fill(kernels.begin(), kernels.end(), std::nullopt);
    if (device->architecture() != record.architecture)
      return Status::error("INGOT-E7031",
                           "the record is for " + record.architecture + " and this device is " +
                               device->description(),
                           "record for its architecture");
    Result<void *> allocated = device->allocate(largest);
    if (!allocated.ok())
      return std::move(allocated).status();
    memory = static_cast<uint8_t *>(*allocated);
    return {};
  }

  /// Runs one launch; its device is of no more use when the outcome is an error of it.
  Outcome run(size_t index, bool &deviceFailed) {
    Outcome outcome;
    outcome.launch = index;
    const LaunchT &launch = *record.launches[index];
    Layout layout(record, launch);
    std::vector<uint8_t> image(layout.bytes, kMarginByte);
    fill(launch, layout, image);
    Status status = execute(launch, layout, image);
    deviceFailed = !status.ok();
    if (deviceFailed) {
      outcome.error = status.toString();
      return outcome;
    }
    outcome.bitEqual = true;
    for (size_t i = 0; i < launch.buffers.size(); ++i)
      BufferComparison(record, i, *launch.buffers[i],
                       std::span(image).subspan(layout.offsets[i], layout.sizes[i]), outcome)
          .compare();
    checkSurroundings(launch, layout, image, outcome);
    return outcome;
  }

private:
  void fill(const LaunchT &launch, const Layout &layout, std::vector<uint8_t> &image) const {
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      uint8_t *begin = image.data() + layout.offsets[i];
      uint32_t input = launch.buffers[i]->input;
      if (input == kNone)
        std::fill_n(begin, layout.sizes[i], kUnwrittenByte);
      else
        std::copy_n(record.blobs[input]->bytes.begin(), layout.sizes[i], begin);
    }
    // What of a workspace is no counter has any content.
    if (launch.workspace_bytes >= 0)
      std::fill_n(image.data() + layout.offsets.back(), launch.counter_bytes, 0);
  }

  Status execute(const LaunchT &launch, const Layout &layout, std::vector<uint8_t> &image) {
    Status status = load(launch.kernel);
    if (!status.ok())
      return status;
    device->write(memory, image.data(), image.size());
    std::vector<void *> buffers;
    for (uint64_t offset : layout.offsets)
      buffers.push_back(memory + offset);
    device->launch({&*kernels[launch.kernel],
                    buffers,
                    launch.scalars,
                    {launch.grid->x(), launch.grid->y(), launch.grid->z()}});
    return device->read(image.data(), memory, image.size());
  }

  Status load(uint32_t index) {
    if (kernels[index])
      return {};
    const KernelT &kernel = *record.kernels[index];
    uint32_t code = device->loads(CodeKind::Ptx) ? kernel.ptx : kernel.cubin;
    if (record.blobs[code]->bytes.empty())
      return Status::error(
          "INGOT-E7030", "the record has no code of kernel '" + kernel.symbol + "' for this device",
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
      shape.tensorMaps.push_back(
          {map->buffer, map->rows, map->row_bytes, map->box_rows, map->box_bytes});
    Result<runtime::DeviceKernel> loaded = device->kernel(*library, kernel.symbol, shape);
    if (!loaded.ok())
      return std::move(loaded).status();
    kernels[index] = *loaded;
    return {};
  }

  static void checkSurroundings(const LaunchT &launch, const Layout &layout,
                                const std::vector<uint8_t> &image, Outcome &outcome) {
    uint64_t from = 0;
    for (size_t i = 0; i <= layout.offsets.size(); ++i) {
      uint64_t to = i < layout.offsets.size() ? layout.offsets[i] : layout.bytes;
      if (std::any_of(image.begin() + int64_t(from), image.begin() + int64_t(to),
                      [](uint8_t byte) { return byte != kMarginByte; }))
        outcome.error = "it writes beside a buffer";
      if (i < layout.offsets.size())
        from = to + layout.sizes[i];
    }
    if (launch.workspace_bytes >= 0 &&
        std::any_of(image.begin() + int64_t(layout.offsets.back()),
                    image.begin() + int64_t(layout.offsets.back() + launch.counter_bytes),
                    [](uint8_t byte) { return byte != 0; }))
      outcome.error = "it leaves counters of its workspace that are not zero";
  }

  const RecordT &record;
  uint64_t largest = 0;
  std::unique_ptr<Device> device;
  std::vector<std::optional<runtime::DeviceKernel>> kernels;
  uint8_t *memory = nullptr;
};

} // namespace

Result<std::vector<Outcome>> replay(const RecordT &record, const OpenDevice &open) {
  Replayer replayer(record);
  std::vector<Outcome> outcomes;
  bool deviceFailed = true;
  for (size_t i = 0; i < record.launches.size(); ++i) {
    if (deviceFailed)
      if (Status status = replayer.open(open); !status.ok())
        return status;
    outcomes.push_back(replayer.run(i, deviceFailed));
  }
  return outcomes;
}

} // namespace ingot::record
