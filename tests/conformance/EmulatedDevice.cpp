// SPDX-License-Identifier: Apache-2.0
// The side of the tests: the device's memory is an arena that emulate_cpu.py maps too.
#include "tests/conformance/EmulatedDevice.h"

#include "runtime/schema/KernelAbi.h"
#include "tests/conformance/GuardedDevice.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cstring>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::conformance;
using runtime::Result;
using runtime::Status;

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kArenaBytes = size_t(1) << 28;
/// Where arenas are, one behind the other: free in a process of Linux, with sanitizers too.
constexpr uintptr_t kArenas = uintptr_t(1) << 45;
constexpr int kMaxArenas = 64;
constexpr int64_t kThreads = 2; ///< as THREADS in emulate_cpu.py

/// Maps the file at a place for an arena; null where that fails.
uint8_t *mapArena(int file) {
  for (int i = 0; i < kMaxArenas; ++i) {
    auto *wanted = reinterpret_cast<void *>(kArenas + i * kArenaBytes);
    void *mapped = mmap(wanted, kArenaBytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    if (mapped == wanted)
      return static_cast<uint8_t *>(mapped);
    if (mapped != MAP_FAILED)
      munmap(mapped, kArenaBytes);
  }
  return nullptr;
}

Status failed(const std::string &what) { return Status::error("INGOT-E6504", what); }
} // namespace

bool &conformance::emulating() {
  static bool given = false;
  return given;
}

Result<std::unique_ptr<EmulatedDevice>> EmulatedDevice::open() {
  std::unique_ptr<EmulatedDevice> cpu(new EmulatedDevice());
  cpu->memory = memfd_create("arena", 0);
  cpu->arena = ftruncate(cpu->memory, kArenaBytes) == 0 ? mapArena(cpu->memory) : nullptr;
  if (!cpu->arena)
    return failed(std::string("no memory for the emulated CPU: ") + strerror(errno));
  cpu->used = kPage; // the ends of calls and of barriers
  return cpu;
}

EmulatedDevice::~EmulatedDevice() {
  if (channel >= 0)
    close(channel);
  if (child > 0)
    waitpid(child, nullptr, 0);
  if (arena)
    munmap(arena, kArenaBytes);
  if (memory >= 0)
    close(memory);
}

//===- Memory -------------------------------------------------------------------------------===//

uint8_t *EmulatedDevice::take(size_t bytes) {
  if (bytes > kArenaBytes - used)
    return nullptr;
  uint8_t *place = arena + used;
  used = std::min(kArenaBytes, (used + bytes + kPage - 1) / kPage * kPage);
  return place;
}

Result<void *> EmulatedDevice::allocate(uint64_t bytes) {
  uint8_t *place = take(bytes + INGOT_BUFFER_ALIGNMENT);
  if (!place)
    return Status::error("INGOT-E6010", "an engine needs more memory than the emulated CPU has");
  return static_cast<void *>(place);
}

Result<void *> EmulatedDevice::adopt(std::span<const uint8_t> bytes) {
  Result<void *> place = allocate(bytes.size());
  if (place.ok())
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t *>(*place));
  return place;
}

Status EmulatedDevice::start(int64_t threads, uint64_t bytes) {
  if (threads != kThreads)
    return failed("the emulated CPU has two threads");
  scratchBytes = bytes;
  for (int64_t thread = 0; thread < threads; ++thread) {
    uint8_t *place = take(bytes + 2 * kMargin);
    if (!place)
      return failed("no scratch memory for the emulated CPU");
    scratch.push_back(place + kMargin);
  }
  return {};
}

int64_t EmulatedDevice::dimension(std::string_view name) const {
  return name == "threads" ? kThreads : -1;
}

void EmulatedDevice::copy(void *destination, const void *source, uint64_t bytes) {
  std::memmove(destination, source, bytes);
}

void EmulatedDevice::zero(void *destination, uint64_t bytes) { std::memset(destination, 0, bytes); }

void EmulatedDevice::write(void *destination, const void *hostSource, uint64_t bytes) {
  std::copy_n(static_cast<const uint8_t *>(hostSource), bytes, static_cast<uint8_t *>(destination));
}

Status EmulatedDevice::read(void *hostDestination, const void *source, uint64_t bytes) {
  std::copy_n(static_cast<const uint8_t *>(source), bytes, static_cast<uint8_t *>(hostDestination));
  return failure;
}

//===- Kernels ------------------------------------------------------------------------------===//

Result<size_t> EmulatedDevice::loadLibrary(std::span<const uint8_t> code, const std::string &name) {
  int library = memfd_create("kernels", 0);
  llvm::scope_exit close([&] { ::close(library); });
  if (child > 0 || ::write(library, code.data(), code.size()) != ssize_t(code.size()))
    return failed("the emulated CPU cannot load library '" + name + "'");
  if (Status status = startChild(library); !status.ok())
    return status;
  return size_t(0);
}

Status EmulatedDevice::startChild(int library) {
  int ends[2] = {-1, -1};
  llvm::scope_exit close([&] { ::close(ends[1]); });
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed(std::string("no channel to the emulated CPU: ") + strerror(errno));
  channel = ends[0];
  std::vector<std::string> words = {"python3",
                                    INGOT_EMULATE_CPU,
                                    std::to_string(library),
                                    std::to_string(memory),
                                    std::to_string(uintptr_t(arena)),
                                    std::to_string(kArenaBytes)};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  int error = posix_spawnp(&child, "python3", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0)
    return {};
  child = -1;
  return failed(std::string("cannot start python3: ") + strerror(error));
}

Result<runtime::DeviceKernel> EmulatedDevice::kernel(size_t, const std::string &symbol,
                                                     const runtime::KernelShape &shape) {
  return runtime::DeviceKernel{&symbols.emplace_back(symbol), shape, symbol};
}

bool EmulatedDevice::ask(const std::string &line, std::string &answer) {
  for (size_t sent = 0; sent < line.size();) {
    ssize_t count = send(channel, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    sent += count;
  }
  for (answer.clear(); answer.empty() || answer.back() != '\n';) {
    char buffer[256];
    ssize_t count = recv(channel, buffer, sizeof buffer, 0);
    if (count <= 0)
      return false;
    answer.append(buffer, count);
  }
  answer.pop_back();
  return true;
}

template <class T> T *EmulatedDevice::put(const T *values, size_t count) {
  uint8_t *place = take(std::max<size_t>(count, 1) * sizeof *values);
  auto *copy = reinterpret_cast<std::remove_const_t<T> *>(place);
  if (place)
    std::copy(values, values + count, copy);
  return copy;
}

/// The calls of one thread: all of its tiles, or one of an SPMD kernel.
static std::vector<IngotLaunch> callsOf(int64_t thread, bool spmd, IngotLaunch launch) {
  launch.thread = thread;
  launch.isFirst = 1;
  std::vector<IngotLaunch> calls;
  int64_t x = spmd ? kThreads : launch.grid[0], y = spmd ? 1 : launch.grid[1],
          z = spmd ? 1 : launch.grid[2];
  for (int64_t tile = thread; tile < x * y * z; tile += kThreads) {
    launch.tile[0] = tile % x;
    launch.tile[1] = tile / x % y;
    launch.tile[2] = tile / x / y;
    calls.push_back(launch);
    launch.isFirst = 0;
  }
  return calls;
}

void EmulatedDevice::launch(const runtime::DeviceLaunch &launch) {
  if (!failure.ok())
    return;
  size_t before = used;
  llvm::scope_exit release([&] { used = before; });
  IngotLaunch base = {};
  base.buffers = put(launch.buffers.data(), launch.buffers.size());
  base.scalars = put(launch.scalars.data(), launch.scalars.size());
  base.threads = kThreads;
  std::copy_n(launch.grid, 3, base.grid);
  base.barrier = reinterpret_cast<void (*)(void *)>(arena);
  llvm::json::Array threads;
  bool fits = base.buffers && base.scalars;
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    base.scratch = scratch[thread];
    std::fill_n(scratch[thread] - kMargin, kMargin, kCanary);
    std::fill_n(scratch[thread] + scratchBytes, kMargin, kCanary);
    std::vector<IngotLaunch> calls = callsOf(thread, launch.kernel->shape.spmd, base);
    IngotLaunch *shared = put(calls.data(), calls.size());
    fits = fits && shared;
    llvm::json::Array addresses;
    for (size_t i = 0; i < calls.size(); ++i)
      addresses.push_back(int64_t(uintptr_t(shared + i)));
    threads.push_back(std::move(addresses));
  }
  const auto &symbol = *static_cast<const std::string *>(launch.kernel->entry);
  std::string line, answer;
  llvm::raw_string_ostream(line) << llvm::json::Value(llvm::json::Object{
                                        {"symbol", symbol}, {"threads", std::move(threads)}})
                                 << "\n";
  if (!fits)
    failure = failed("a launch needs more memory than the emulated CPU has");
  else if (!ask(line, answer))
    failure = failed("the emulated CPU is gone: an earlier failure or stderr says why; where it is "
                     "missing, scripts/setup --full installs it");
  else if (!answer.empty())
    failure = failed("in the emulated CPU, " + answer);
  for (uint8_t *own : scratch)
    scratchIsBroken |=
        !areIntact({own - kMargin, kMargin}) || !areIntact({own + scratchBytes, kMargin});
}

std::string EmulatedDevice::findings() const {
  return scratchIsBroken ? "a kernel writes beyond its scratch memory\n" : "";
}
