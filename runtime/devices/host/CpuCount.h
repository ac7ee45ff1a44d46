// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may really use: its affinity mask cut by the cgroup's CPU quota.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// CPU numbers of the calling thread's affinity mask, ascending; at least one.
std::vector<int> affinityCpus();

/// CPUs granted by the tightest quota on the way from this process's cgroup to the root (cgroup v2
/// `cpu.max`, v1 `cpu.cfs_quota_us`), rounded up; 0 when there is no quota. `root` is the file
/// system to read from, for tests; "" is the real one.
int quotaCpus(const std::string &root = "");

/// The smaller of both: the number of threads that can run at once.
int usableCpus();

/// Bytes of memory this process may still take: available memory cut by the cgroup's limit.
uint64_t availableMemory();

} // namespace ingot::runtime
