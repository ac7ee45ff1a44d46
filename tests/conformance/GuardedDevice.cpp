// SPDX-License-Identifier: Apache-2.0
// Buffers are found by the executor's addresses, of which nothing is mapped.
#include "tests/conformance/GuardedDevice.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/mman.h>

using namespace ingot;
using namespace ingot::conformance;
using runtime::Result;
using runtime::Status;

bool conformance::areIntact(std::span<const uint8_t> canaries) {
  return std::all_of(canaries.begin(), canaries.end(),
                     [](uint8_t byte) { return byte == kCanary; });
}

//===- Scratch memory -----------------------------------------------------------------------===//

/// The kernel that is running and the scratch memory that it may use; kernels are called without a
/// place for more.
static struct {
  IngotKernel kernel = nullptr;
  uint64_t scratchBytes = 0;
  std::atomic<bool> isBroken = false;
} running;

/// Calls the kernel on scratch memory between two margins.
static void callGuarded(const IngotLaunch *launch) {
  auto *before = static_cast<uint8_t *>(launch->scratch);
  uint8_t *behind = before + kMargin + running.scratchBytes;
  std::memset(before, kCanary, kMargin);
  std::memset(behind, kCanary, kMargin);
  IngotLaunch inner = *launch;
  inner.scratch = before + kMargin;
  running.kernel(&inner);
  if (!areIntact({before, kMargin}) || !areIntact({behind, kMargin}))
    running.isBroken = true;
}

Status GuardedHost::start(int64_t threads, uint64_t scratchBytes) {
  running.scratchBytes = scratchBytes;
  running.isBroken = false;
  return HostDevice::start(threads, scratchBytes + 2 * kMargin);
}

void GuardedHost::launch(const runtime::DeviceLaunch &launch) {
  running.kernel = reinterpret_cast<IngotKernel>(launch.kernel->entry);
  runtime::DeviceKernel guarded = *launch.kernel;
  guarded.entry = reinterpret_cast<void *>(&callGuarded);
  runtime::DeviceLaunch call = launch;
  call.kernel = &guarded;
  HostDevice::launch(call);
}

std::string GuardedHost::findings() const {
  return running.isBroken ? "a kernel writes beyond its scratch memory\n" : "";
}

//===- Buffers ------------------------------------------------------------------------------===//

namespace {

constexpr size_t kNoCode = SIZE_MAX; ///< the library kLeftOut
constexpr uint64_t kWriterThreads = 32;
/// Of larger buffers a word of each 64 bytes shows what reads them too early.
constexpr uint64_t kWholeBytes = 4096, kWord = 4, kStride = 64;

/// Writes back every word number `stride` / 4 of a buffer.
constexpr char kWriter[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry writer(.param .u64 p_buffer, .param .u64 p_count, .param .u64 p_stride)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<6>;
  griddepcontrol.wait;
  ld.param.u64 %rd1, [p_buffer];
  ld.param.u64 %rd2, [p_count];
  ld.param.u64 %rd3, [p_stride];
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %rd4, %r1;
$L_next:
  setp.ge.u64 %p1, %rd4, %rd2;
  @%p1 bra $L_done;
  mad.lo.u64 %rd5, %rd4, %rd3, %rd1;
  ld.global.u32 %r2, [%rd5];
  st.global.u32 [%rd5], %r2;
  add.u64 %rd4, %rd4, 32;
  bra $L_next;
$L_done:
  ret;
}
)";

} // namespace

GuardedDevice::GuardedDevice(std::unique_ptr<runtime::Device> device) : device(std::move(device)) {}

GuardedDevice::~GuardedDevice() {
  for (auto [address, bytes] : reserved)
    munmap(address, bytes);
}

bool GuardedDevice::isGpu() const { return device->architecture().starts_with("sm_"); }

Result<void *> GuardedDevice::allocate(uint64_t bytes) {
  size_t reservedBytes = bytes + INGOT_BUFFER_ALIGNMENT;
  void *address =
      mmap(nullptr, reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return Status::error("INGOT-E6010", "no addresses for the guarded buffers");
  reserved.emplace_back(address, reservedBytes);
  addresses.push_back(address);
  return address;
}

Status GuardedDevice::place(std::vector<Buffer> buffers) {
  // A GPU's allocations have addresses without memory around them already, behind a margin that
  // the kernel ABI lets kernels read.
  uint64_t before = isGpu() ? 0 : kMargin, behind = isGpu() ? 0 : kMargin;
  for (Buffer &buffer : buffers) {
    Placed &one = placed.emplace_back(Placed{std::move(buffer)});
    if (!one.buffer.address)
      continue;
    uint64_t bytes = one.buffer.bytes;
    Result<void *> memory = device->allocate(before + bytes + behind);
    if (!memory.ok())
      return std::move(memory).status().in(one.buffer.name);
    one.memory = static_cast<uint8_t *>(*memory) + before;
    std::vector<uint8_t> fill(before + bytes + std::max<uint64_t>(behind, INGOT_BUFFER_ALIGNMENT),
                              kCanary);
    std::fill_n(fill.begin() + int64_t(before), bytes, one.buffer.zeroed ? 0 : 0xff);
    device->write(one.memory - before, fill.data(), fill.size());
  }
  return {};
}

uint8_t *GuardedDevice::memoryAt(const void *address, uint64_t bytes) {
  for (const Placed &one : placed) {
    auto *begin = static_cast<uint8_t *>(one.buffer.address),
         *at = static_cast<uint8_t *>(const_cast<void *>(address));
    if (begin && begin <= at && at + bytes <= begin + one.buffer.bytes)
      return one.memory + (at - begin);
  }
  find("the executor uses " + std::to_string(bytes) + " bytes that are in no buffer");
  return nullptr;
}

Result<std::vector<uint8_t>> GuardedDevice::content(size_t buffer) {
  std::vector<uint8_t> bytes(placed[buffer].buffer.bytes);
  if (placed[buffer].memory)
    if (Status status = device->read(bytes.data(), placed[buffer].memory, bytes.size());
        !status.ok())
      return status;
  return bytes;
}

//===- Kernels ------------------------------------------------------------------------------===//

Result<size_t> GuardedDevice::loadLibrary(std::span<const uint8_t> code, const std::string &name) {
  return name == kLeftOut ? Result<size_t>(kNoCode) : device->loadLibrary(code, name);
}

Result<runtime::DeviceKernel> GuardedDevice::kernel(size_t library, const std::string &symbol,
                                                    const runtime::KernelShape &shape) {
  if (library == kNoCode)
    return runtime::DeviceKernel{nullptr, shape, symbol};
  return device->kernel(library, symbol, shape);
}

Status GuardedDevice::writeBeforeLaunches() {
  Result<size_t> library = device->loadLibrary(
      {reinterpret_cast<const uint8_t *>(kWriter), sizeof kWriter - 1}, "writer");
  if (!library.ok())
    return std::move(library).status();
  runtime::KernelShape shape;
  shape.block[0] = uint32_t(kWriterThreads);
  Result<runtime::DeviceKernel> kernel = device->kernel(*library, "writer", shape);
  if (!kernel.ok())
    return std::move(kernel).status();
  writer = *kernel;
  return {};
}

void GuardedDevice::writeAll() {
  for (size_t index : expected) {
    const Placed &one = placed[index];
    if (!one.memory)
      continue;
    int64_t stride = one.buffer.bytes <= kWholeBytes ? kWord : kStride;
    void *buffers[] = {one.memory};
    int64_t scalars[] = {int64_t(one.buffer.bytes) / stride, stride};
    device->launch({&writer, buffers, scalars, {1, 1, 1}, "writing before a launch"});
  }
}

void GuardedDevice::launch(const runtime::DeviceLaunch &launch) {
  last = {launch.kernel->shape,
          launch.kernel->name,
          {launch.grid[0], launch.grid[1], launch.grid[2]},
          {launch.scalars.begin(), launch.scalars.end()}};
  if (!launch.kernel->entry)
    return find(launch.kernel->name + " is launched, and was left out");
  if (launch.buffers.size() != expected.size())
    return find(launch.kernel->name + " is launched with other buffers than its launch lists");
  std::vector<void *> buffers(launch.buffers.begin(), launch.buffers.end());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Placed &one = placed[expected[i]];
    if (!one.buffer.address)
      continue;
    if (buffers[i] != one.buffer.address)
      return find(launch.kernel->name + " gets another address than that of " + one.buffer.name);
    buffers[i] = one.memory;
  }
  if (writer.entry)
    writeAll();
  runtime::DeviceLaunch call = launch;
  call.buffers = buffers;
  device->launch(call);
}

//===- What the executor does to memory ------------------------------------------------------===//

void GuardedDevice::copy(void *destination, const void *source, uint64_t bytes) {
  uint8_t *to = memoryAt(destination, bytes), *from = memoryAt(source, bytes);
  if (to && from)
    device->copy(to, from, bytes);
}

void GuardedDevice::zero(void *destination, uint64_t bytes) {
  if (uint8_t *to = memoryAt(destination, bytes))
    device->zero(to, bytes);
}

void GuardedDevice::write(void *destination, const void *hostSource, uint64_t bytes) {
  if (uint8_t *to = memoryAt(destination, bytes))
    device->write(to, hostSource, bytes);
}

Status GuardedDevice::read(void *hostDestination, const void *source, uint64_t bytes) {
  uint8_t *from = memoryAt(source, bytes);
  return from ? device->read(hostDestination, from, bytes) : Status();
}

//===- Canaries -----------------------------------------------------------------------------===//

void GuardedDevice::checkMargin(const Placed &one, uint8_t *margin, uint64_t bytes,
                                const char *where) {
  std::vector<uint8_t> held(bytes);
  if (Status status = device->read(held.data(), margin, bytes); !status.ok() && failure.ok())
    failure = std::move(status);
  if (failure.ok() && !areIntact(held))
    find(last.kernel + " writes " + where + " buffer " + one.buffer.name);
}

Status GuardedDevice::check() {
  for (const Placed &one : placed) {
    if (!one.memory)
      continue;
    if (!isGpu())
      checkMargin(one, one.memory - kMargin, kMargin, "before");
    checkMargin(one, one.memory + one.buffer.bytes, isGpu() ? INGOT_BUFFER_ALIGNMENT : kMargin,
                "behind");
  }
  return failure;
}
