// SPDX-License-Identifier: Apache-2.0
// Handlers of SIGBUS and SIGSEGV. They call what POSIX allows in a handler only, and find the file
// in the system's list of mappings, so that nothing need be kept beside it.
#include "runtime/tools/FileFaults.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::runtime {
namespace {

/// A line of /proc/self/maps is at most an address range, a few numbers and a path.
constexpr size_t longestLine = 4096 + 256;

timespec begun;
char line[longestLine], block[longestLine];
std::atomic_flag isReporting = ATOMIC_FLAG_INIT;

/// Reads hexadecimal digits and leaves `text` behind them.
uintptr_t readAddress(const char *&text) {
  uintptr_t address = 0;
  for (; *text; ++text) {
    int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                               : -1;
    if (digit < 0)
      break;
    address = address * 16 + uintptr_t(digit);
  }
  return address;
}

bool isLater(const timespec &time, const timespec &than) {
  return time.tv_sec != than.tv_sec ? time.tv_sec > than.tv_sec : time.tv_nsec > than.tv_nsec;
}

/// Whether `line` is of a file whose mapping shows what is written to it, and either holds
/// `address` or, with `written`, has been written to since the program began; then its path,
/// otherwise null.
const char *guiltyPath(uintptr_t address, bool written) {
  const char *text = line, *path = std::strchr(line, '/');
  uintptr_t first = readAddress(text);
  uintptr_t last = *text == '-' ? readAddress(++text) : 0;
  bool isShared = std::strncmp(text, " r--s", 5) == 0;
  if (!path || !isShared)
    return nullptr;
  if (!written)
    return address >= first && address < last ? path : nullptr;
  struct stat facts;
  return stat(path, &facts) == 0 && isLater(facts.st_mtim, begun) ? path : nullptr;
}

/// The file to blame, in static memory; null if there is none.
const char *findFile(uintptr_t address, bool written) {
  int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0)
    return nullptr;
  size_t length = 0;
  for (ssize_t count; (count = read(maps, block, sizeof block)) > 0;)
    for (ssize_t i = 0; i < count; ++i) {
      if (block[i] != '\n') {
        line[length] = block[i];
        length += length + 1 < sizeof line;
        continue;
      }
      line[length] = 0;
      length = 0;
      if (const char *path = guiltyPath(address, written)) {
        close(maps);
        return path;
      }
    }
  close(maps);
  return nullptr;
}

void say(const char *text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void onFault(int signal, siginfo_t *info, void *) {
  if (isReporting.test_and_set())
    while (true) // another thread reports, and ends the program
      pause();
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const char *path = findFile(address, false);
  if (signal == SIGSEGV || !path)
    path = findFile(address, true);
  if (!path) {
    // Not of a file: the instruction is tried again and ends the program as it would have.
    std::signal(signal, SIG_DFL);
    isReporting.clear();
    return;
  }
  say("error: INGOT-E7104: ");
  say(path);
  say(": has been cut or written to while it was in use, or its disk fails; run again, and replace "
      "engines by rename, not in place\n");
  _exit(1);
}

} // namespace

void reportFileFaults() {
  clock_gettime(CLOCK_REALTIME, &begun);
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGBUS, SIGSEGV})
    sigaction(signal, &action, nullptr);
}

} // namespace ingot::runtime
