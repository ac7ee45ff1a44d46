// SPDX-License-Identifier: Apache-2.0
// Memory of machines with several memory nodes (NUMA).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Numbers of the memory nodes that `cpus` belong to, ascending; empty where the system does not
/// say. `root` is the file system to read from, for tests; "" is the real one.
std::vector<int> memoryNodes(const std::vector<int> &cpus, const std::string &root = "");

/// Asks the system to spread [base, base + bytes), whole pages that nobody has touched, over
/// `nodes` page by page: what every thread reads then comes at the rate of all nodes together, not
/// of the one whose thread wrote it. False if the system refuses, as containers may have it do;
/// pages then lie with the thread that touches them first.
bool spreadOverNodes(void *base, uint64_t bytes, const std::vector<int> &nodes);

} // namespace ingot::runtime
