// SPDX-License-Identifier: Apache-2.0
// What stat() says, and how long it may say it of two contents.
#include "codegen/FileStamp.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

using namespace ingot::codegen;

// Clocks of file systems: what the kernel stamps with ticks at least 100 times a second; file
// systems that keep seconds alone may round to two of them.
static constexpr int64_t kSecond = 1'000'000'000, kTick = 20'000'000, kCoarseTick = 2 * kSecond;

static int64_t nanoseconds(const timespec &time) { return time.tv_sec * kSecond + time.tv_nsec; }

std::optional<FileStamp> FileStamp::of(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    return std::nullopt;
  return FileStamp{facts.st_dev, facts.st_ino, uint64_t(facts.st_size), facts.st_mtim,
                   facts.st_ctim};
}

std::string FileStamp::text() const {
  return std::to_string(device) + " " + std::to_string(inode) + " " + std::to_string(size) + " " +
         std::to_string(nanoseconds(modified)) + " " + std::to_string(nanoseconds(changed));
}

bool FileStamp::settles() const {
  const int64_t tick = changed.tv_nsec == 0 ? kCoarseTick : kTick;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t left = nanoseconds(changed) + tick - nanoseconds(now);
  if (left > 2 * tick)
    return false;
  if (left > 0) {
    const timespec pause = {left / kSecond, left % kSecond};
    nanosleep(&pause, nullptr);
  }
  return true;
}
