// SPDX-License-Identifier: Apache-2.0
// What a process that has locked itself up can no longer do.
#include "runtime/images/decode/Sandbox.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ingot::runtime::images {
namespace {

constexpr uint64_t room = 64 << 20;

/// The status of a process that locks itself up and then does `act`.
int statusOf(const std::function<void()> &act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (lockUp(3, room))
      ::_exit(99);
    act();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class Sandbox : public testing::Test {
protected:
  void SetUp() override {
    if (!locksUp)
      GTEST_SKIP() << "sanitizers need what it forbids";
  }
};

TEST_F(Sandbox, ComputingGoesOn) {
  const int status = statusOf([] {
    for (size_t size : {100u, 100'000u, 30'000'000u}) {
      auto *bytes = static_cast<volatile char *>(std::malloc(size));
      if (!bytes)
        ::_exit(98);
      bytes[size - 1] = 1;
      std::free(const_cast<char *>(bytes));
    }
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Sandbox, MemoryIsBounded) {
  const int status = statusOf([] { ::_exit(std::malloc(2 * room) ? 1 : 42); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

TEST_F(Sandbox, OtherCallsEndTheProcess) {
  const std::pair<const char *, std::function<void()>> calls[] = {
      {"open", [] { (void)::open("/dev/null", O_RDONLY); }},
      {"socket", [] { (void)::socket(AF_INET, SOCK_STREAM, 0); }},
      {"fork", [] { (void)::fork(); }},
      {"execve", [] { ::execl("/bin/true", "true", nullptr); }},
      {"kill", [] { ::kill(::getppid(), 0); }},
      {"unlink", [] { ::unlink("/tmp/none"); }},
      {"memory that is code",
       [] { ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
      {"memory that becomes code",
       [] {
         void *page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
       }},
      {"more memory for itself", [] {
         const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
         ::setrlimit(RLIMIT_AS, &none);
       }}};
  for (const auto &[name, act] : calls) {
    const int status = statusOf(act);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << name << ": " << status;
  }
}

TEST_F(Sandbox, InheritedDescriptorsAreClosed) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const int status = statusOf([&] {
    // The numbers above that of its socket.
    ::_exit(::close(pipes[1]) == 0 ? 1 : 42);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  ::close(pipes[0]);
  ::close(pipes[1]);
}

} // namespace
} // namespace ingot::runtime::images
