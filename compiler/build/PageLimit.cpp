// SPDX-License-Identifier: Apache-2.0
// Looks at the process a thousand times a second: at 20 GB/s that are 20 MB of new pages.
#include "compiler/build/PageLimit.h"

#include "compiler/weights/WeightStreamer.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace ingot::compiler;

/// Where this process has mapped the file.
static std::vector<std::span<std::byte>> mappingsOf(const std::filesystem::path &file) {
  std::vector<std::span<std::byte>> found;
  struct stat facts = {};
  if (stat(file.c_str(), &facts) != 0)
    return found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // 7f00-7f80 r--s 00000000 fe:00 1234  /a/path
    std::istringstream words(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights, offset, device;
    uint64_t inode = 0;
    words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> std::dec >> inode;
    if (words && inode == facts.st_ino && rights == "r--s")
      found.emplace_back(reinterpret_cast<std::byte *>(begin), end - begin);
  }
  return found;
}

PageLimit::PageLimit(const std::filesystem::path &file, uint64_t bytes)
    : bytes(bytes), mappings(mappingsOf(file)) {
  uint64_t mapped = 0;
  for (const auto &mapping : mappings)
    mapped += mapping.size();
  if (residentMemory() + mapped > bytes)
    watcher = std::jthread([this](const std::stop_token &stop) { watch(stop); });
}

void PageLimit::watch(const std::stop_token &stop) const {
  for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (residentMemory() > bytes)
      for (const auto &mapping : mappings)
        madvise(mapping.data(), mapping.size(), MADV_DONTNEED);
}
