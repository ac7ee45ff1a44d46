// SPDX-License-Identifier: Apache-2.0
// PageLimit: pages of a mapped file leave the process, and are there when they are read again.
#include "compiler/build/PageLimit.h"

#include "compiler/weights/WeightStreamer.h"

#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot::compiler;

namespace {

constexpr size_t kBytes = size_t{64} << 20, kPage = 4096;

struct Mapping {
  Mapping() : path(testing::TempDir() + "ingot-pages-" + std::to_string(getpid())) {
    int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(ftruncate(descriptor, kBytes), 0);
    const char last = 7;
    EXPECT_EQ(pwrite(descriptor, &last, 1, kBytes - 1), 1);
    void *mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, descriptor, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    bytes = {static_cast<const volatile char *>(mapped), kBytes};
    close(descriptor);
  }
  ~Mapping() {
    munmap(const_cast<char *>(bytes.data()), kBytes);
    unlink(path.c_str());
  }
  /// Reads a byte of each page.
  int sum() const {
    int sum = 0;
    for (size_t at = kPage - 1; at < kBytes; at += kPage)
      sum += bytes[at];
    return sum;
  }

  std::string path;
  std::span<const volatile char> bytes;
};

} // namespace

TEST(PageLimitTest, GivesPagesBack) {
  Mapping file;
  const uint64_t before = residentMemory();
  EXPECT_EQ(file.sum(), 7);
  ASSERT_GE(residentMemory(), before + kBytes);
  PageLimit limit(file.path, before + kBytes / 2);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (residentMemory() > before + kBytes / 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_LE(residentMemory(), before + kBytes / 2);
  EXPECT_EQ(file.sum(), 7);
}

TEST(PageLimitTest, LeavesPagesWhereThereIsRoom) {
  Mapping file;
  const uint64_t before = residentMemory();
  PageLimit limit(file.path, before + 4 * kBytes);
  EXPECT_EQ(file.sum(), 7);
  EXPECT_GE(residentMemory(), before + kBytes);
}
