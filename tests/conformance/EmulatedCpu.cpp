// SPDX-License-Identifier: Apache-2.0
// The side of the tests: what a launch needs goes to an arena that emulate_cpu.py maps too.
#include "tests/conformance/EmulatedCpu.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include <cstring>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kArenaBytes = size_t(1) << 28;
/// Where arenas are, one behind the other: free in a process of Linux, with sanitizers too.
constexpr uintptr_t kArenas = uintptr_t(1) << 45;
constexpr int kMaxArenas = 64;

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
} // namespace

bool &conformance::emulating() {
  static bool given = false;
  return given;
}

std::unique_ptr<EmulatedCpu> EmulatedCpu::open(int library) {
  std::unique_ptr<EmulatedCpu> cpu(new EmulatedCpu());
  int memory = memfd_create("arena", 0), ends[2] = {-1, -1};
  llvm::scope_exit close([&] {
    ::close(memory);
    ::close(ends[1]);
  });
  cpu->arena = ftruncate(memory, kArenaBytes) == 0 ? mapArena(memory) : nullptr;
  if (!cpu->arena || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    ADD_FAILURE() << "no memory for the emulated CPU: " << strerror(errno);
    return nullptr;
  }
  cpu->channel = ends[0];

  std::vector<std::string> words = {"python3",
                                    INGOT_EMULATE_CPU,
                                    std::to_string(library),
                                    std::to_string(memory),
                                    std::to_string(uintptr_t(cpu->arena)),
                                    std::to_string(kArenaBytes)};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  int error = posix_spawnp(&cpu->child, "python3", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ADD_FAILURE() << "cannot start python3: " << strerror(error);
    return nullptr;
  }
  return cpu;
}

EmulatedCpu::~EmulatedCpu() {
  if (channel >= 0)
    close(channel);
  if (child > 0)
    waitpid(child, nullptr, 0);
  if (arena)
    munmap(arena, kArenaBytes);
}

uint8_t *EmulatedCpu::allocate(size_t bytes, size_t offset) {
  uint8_t *place = arena + used + offset;
  used += (offset + bytes + kPage - 1) / kPage * kPage;
  if (used > kArenaBytes)
    llvm::report_fatal_error("a launch needs more memory than the emulated CPU has");
  return place;
}

bool EmulatedCpu::ask(const std::string &line, std::string &answer) {
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

bool EmulatedCpu::run(const Launch &launch, llvm::ArrayRef<KernelBuffer *> memory) {
  // The first page has the ends of calls and of barriers.
  used = kPage;
  std::vector<std::pair<KernelBuffer *, uint8_t *>> copies;
  for (KernelBuffer *buffer : memory) {
    llvm::MutableArrayRef<uint8_t> whole = buffer->withCanaries();
    uint8_t *copy = allocate(whole.size(), uintptr_t(whole.data()) % kPage);
    std::copy(whole.begin(), whole.end(), copy);
    copies.emplace_back(buffer, copy);
  }
  auto there = [&](void *address) -> void * {
    for (auto [buffer, copy] : copies)
      if (address == buffer->data())
        return copy + (buffer->data() - buffer->withCanaries().data());
    return nullptr;
  };
  auto put = [&](const auto *values, size_t count) {
    auto *place = reinterpret_cast<std::decay_t<decltype(*values)> *>(
        allocate(std::max<size_t>(count, 1) * sizeof *values));
    std::copy(values, values + count, place);
    return place;
  };
  std::vector<void *> buffers;
  for (void *address : launch.buffers)
    buffers.push_back(there(address));
  void *const *sharedBuffers = put(buffers.data(), buffers.size());
  const int64_t *sharedScalars = put(launch.scalars.data(), launch.scalars.size());
  llvm::json::Array threads;
  for (std::vector<IngotLaunch> calls : launch.threads) {
    for (IngotLaunch &call : calls) {
      call.buffers = sharedBuffers;
      call.scalars = sharedScalars;
      call.scratch = there(call.scratch);
      call.barrier = reinterpret_cast<void (*)(void *)>(arena);
      call.barrierState = nullptr;
    }
    IngotLaunch *shared = put(calls.data(), calls.size());
    llvm::json::Array addresses;
    for (size_t i = 0; i < calls.size(); ++i)
      addresses.push_back(int64_t(uintptr_t(shared + i)));
    threads.push_back(std::move(addresses));
  }
  std::string line, answer;
  llvm::raw_string_ostream(line) << llvm::json::Value(llvm::json::Object{
                                        {"symbol", launch.symbol}, {"threads", std::move(threads)}})
                                 << "\n";
  if (!ask(line, answer)) {
    ADD_FAILURE() << "the emulated CPU is gone: an earlier failure or stderr says why; where it "
                     "is missing, scripts/setup --full installs it";
    return false;
  }
  if (!answer.empty())
    ADD_FAILURE() << "in the emulated CPU, " << answer;
  for (auto [buffer, copy] : copies)
    std::copy_n(copy, buffer->withCanaries().size(), buffer->withCanaries().data());
  return answer.empty();
}
