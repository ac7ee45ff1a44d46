// SPDX-License-Identifier: Apache-2.0
// Reads sched_getaffinity, /proc/self/cgroup, the cgroup files and /proc/meminfo (Linux).
#include "runtime/devices/host/CpuCount.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <sstream>

namespace ingot::runtime {
namespace {

/// The first line of a small file; empty when it cannot be read.
std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Path of this process in the v2 hierarchy (`controller` empty) or in a v1 controller's.
std::string cgroupPath(const std::string &root, const std::string &controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    bool matches = controller.empty() ? names == ",,"
                                      : names.find("," + controller + ",") != std::string::npos;
    if (matches)
      return line.substr(second + 1);
  }
  return "/";
}

/// Calls `visit(folder)` for the cgroup of this process and each of its parents.
template <class Visit> void forEachCgroup(const std::string &mount, std::string path, Visit visit) {
  while (true) {
    visit(mount + (path == "/" ? "" : path));
    size_t slash = path.rfind('/');
    if (path.empty() || path == "/" || slash == std::string::npos)
      return;
    path = slash ? path.substr(0, slash) : "/";
  }
}

int roundUp(double quota, double period) {
  if (!(quota > 0) || !(period > 0))
    return 0;
  return std::max(1, int(std::min(quota / period + 0.999, 1e6)));
}

void lower(int &limit, int candidate) {
  if (candidate > 0 && (limit == 0 || candidate < limit))
    limit = candidate;
}

} // namespace

std::vector<int> affinityCpus() {
  std::vector<int> cpus;
  for (size_t count = 1024; count <= (size_t(1) << 16) && cpus.empty(); count *= 4) {
    size_t bytes = CPU_ALLOC_SIZE(count);
    cpu_set_t *set = CPU_ALLOC(count);
    if (set && sched_getaffinity(0, bytes, set) == 0)
      for (size_t cpu = 0; cpu < count; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set))
          cpus.push_back(int(cpu));
    CPU_FREE(set);
  }
  if (cpus.empty())
    cpus.push_back(0);
  return cpus;
}

int quotaCpus(const std::string &root) {
  int limit = 0;
  forEachCgroup(root + "/sys/fs/cgroup", cgroupPath(root, ""), [&](const std::string &folder) {
    std::istringstream line(firstLine(folder + "/cpu.max"));
    double quota = 0, period = 0;
    if (line >> quota >> period)
      lower(limit, roundUp(quota, period));
  });
  forEachCgroup(root + "/sys/fs/cgroup/cpu", cgroupPath(root, "cpu"),
                [&](const std::string &folder) {
                  std::istringstream quotaLine(firstLine(folder + "/cpu.cfs_quota_us"));
                  std::istringstream periodLine(firstLine(folder + "/cpu.cfs_period_us"));
                  double quota = 0, period = 0;
                  if (quotaLine >> quota && periodLine >> period)
                    lower(limit, roundUp(quota, period));
                });
  return limit;
}

int usableCpus() {
  int cpus = int(affinityCpus().size());
  int quota = quotaCpus();
  return quota ? std::min(cpus, quota) : cpus;
}

uint64_t availableMemory() {
  uint64_t available = UINT64_MAX;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    uint64_t kibibytes;
    if (fields >> name >> kibibytes && name == "MemAvailable:")
      available = kibibytes * 1024;
  }
  auto limitBy = [&](const std::string &limitFile, const std::string &usedFile) {
    std::istringstream limitLine(firstLine(limitFile)), usedLine(firstLine(usedFile));
    uint64_t limit, used;
    if (limitLine >> limit && usedLine >> used)
      available = std::min(available, limit > used ? limit - used : 0);
  };
  forEachCgroup("/sys/fs/cgroup", cgroupPath("", ""), [&](const std::string &folder) {
    limitBy(folder + "/memory.max", folder + "/memory.current");
  });
  forEachCgroup("/sys/fs/cgroup/memory", cgroupPath("", "memory"), [&](const std::string &folder) {
    limitBy(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
  });
  return available;
}

} // namespace ingot::runtime
