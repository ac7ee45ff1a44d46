// SPDX-License-Identifier: Apache-2.0
// Reads /sys/devices/system/cpu and calls mbind(2) (Linux), without libnuma.
#include "runtime/devices/host/MemoryNodes.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace ingot::runtime {

std::vector<int> memoryNodes(const std::vector<int> &cpus, const std::string &root) {
  std::vector<int> nodes;
  for (int cpu : cpus) {
    // A CPU's folder has a link "nodeN" to the folder of its node.
    std::error_code error;
    std::filesystem::directory_iterator entries(
        root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu), error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      std::string name = entries->path().filename().string();
      const char *end = name.data() + name.size();
      int node = -1;
      if (name.starts_with("node") && std::from_chars(name.data() + 4, end, node).ptr == end &&
          node >= 0)
        nodes.push_back(node);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

bool spreadOverNodes(void *base, uint64_t bytes, const std::vector<int> &nodes) {
  constexpr size_t wordBits = sizeof(unsigned long) * CHAR_BIT;
  constexpr size_t mostNodes = 1024; // of Linux
  unsigned long mask[mostNodes / wordBits] = {};
  for (int node : nodes) {
    if (node < 0 || size_t(node) >= mostNodes)
      return false;
    mask[size_t(node) / wordBits] |= 1ul << size_t(node) % wordBits;
  }
  // The system counts one bit less than it is told.
  return syscall(SYS_mbind, base, bytes, MPOL_INTERLEAVE, mask, mostNodes + 1, 0) == 0;
}

} // namespace ingot::runtime
