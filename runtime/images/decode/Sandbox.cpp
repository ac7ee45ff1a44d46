// SPDX-License-Identifier: Apache-2.0
// Limits of the kernel and a filter of system calls, written out as the kernel's own table.
#include "runtime/images/decode/Sandbox.h"

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define INGOT_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define INGOT_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter of system calls knows no such machine"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INGOT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INGOT_SANITIZED
#endif
#endif

namespace ingot::runtime::images {
namespace {

/// Closes all but the standard streams and `socket`, which may have been inherited.
void closeOthers(int socket) {
  if (socket > 3)
    ::syscall(SYS_close_range, 3u, unsigned(socket) - 1, 0u);
  if (::syscall(SYS_close_range, unsigned(socket) + 1, ~0u, 0u) == 0)
    return;
  // A kernel before 5.9; most descriptors have the lowest numbers.
  for (int descriptor = 3; descriptor < 4096; ++descriptor)
    if (descriptor != socket)
      ::close(descriptor);
}

#ifndef INGOT_SANITIZED

/// Bytes of addresses that the process has.
uint64_t addressedBytes() {
  unsigned long pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return uint64_t(pages) * uint64_t(::sysconf(_SC_PAGESIZE));
}

bool limit(int resource, uint64_t soft, uint64_t hard) {
  const rlimit bounds{soft, hard};
  return ::setrlimit(resource, &bounds) == 0;
}

constexpr sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
constexpr sock_filter jump(uint16_t code, uint32_t k, uint8_t ifTrue, uint8_t ifFalse) {
  return {code, ifTrue, ifFalse, k};
}

constexpr uint16_t load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K,
                   anyBit = BPF_JMP | BPF_JSET | BPF_K, answer = BPF_RET | BPF_K;

/// Calls that are let through whatever their arguments.
constexpr uint32_t allowedCalls[] = {
    SYS_read,         SYS_write, SYS_recvmsg,    SYS_sendmsg,   SYS_close, SYS_munmap,
    SYS_mremap,       SYS_brk,   SYS_madvise,    SYS_futex,     SYS_fstat, SYS_clock_gettime,
    SYS_rt_sigreturn, SYS_exit,  SYS_exit_group, SYS_newfstatat};

bool filterCalls() {
  constexpr uint8_t count = std::size(allowedCalls);
  sock_filter program[8 + count + 2] = {
      statement(load, offsetof(seccomp_data, arch)),
      jump(equal, INGOT_AUDIT_ARCH, 1, 0),
      statement(answer, SECCOMP_RET_KILL_PROCESS),
      statement(load, offsetof(seccomp_data, nr)),
      // Of memory, nothing becomes code.
      jump(equal, SYS_mmap, 1, 0),
      jump(equal, SYS_mprotect, 0, 2),
      statement(load, offsetof(seccomp_data, args) + 2 * sizeof(uint64_t)),
      jump(anyBit, PROT_EXEC, count, count + 1),
  };
  for (uint8_t i = 0; i < count; ++i)
    program[8 + i] = jump(equal, allowedCalls[i], uint8_t(count - i), 0);
  program[8 + count] = statement(answer, SECCOMP_RET_KILL_PROCESS);
  program[9 + count] = statement(answer, SECCOMP_RET_ALLOW);
  const sock_fprog filter{uint16_t(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#endif

} // namespace

#ifdef INGOT_SANITIZED
const bool locksUp = false;
#else
const bool locksUp = true;
#endif

const char *lockUp(int socket, uint64_t memory) {
  closeOthers(socket);
#ifndef INGOT_SANITIZED
  if (!limit(RLIMIT_AS, addressedBytes() + memory, addressedBytes() + memory))
    return "limiting memory";
  // Descriptors that arrive need numbers; none is opened.
  if (!limit(RLIMIT_NOFILE, 8, 8) || !limit(RLIMIT_FSIZE, 0, 0))
    return "limiting files";
  if (!limit(RLIMIT_NPROC, 0, 0))
    return "limiting processes";
  if (!limit(RLIMIT_CPU, deadlySeconds, deadlySeconds))
    return "limiting time";
  if (!limit(RLIMIT_CORE, 0, 0) || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return "leaving out dumps";
  if (!filterCalls())
    return "filtering system calls";
#endif
  return nullptr;
}

} // namespace ingot::runtime::images
