// SPDX-License-Identifier: Apache-2.0
// What the architectures have. Multiprocessors and clocks are those of a common part; the clocks
// only serve programs that print them.
#include "runtime/simulator/Driver.h"

namespace ingot::simulator {

namespace {

constexpr uint32_t kibi = 1024, mebi = 1024 * 1024;

constexpr Architecture architectures[] = {
    {"sm_80", 80, false, 108, 163 * kibi, 164 * kibi, 2048, 32, 1410000, 1215000, 5120, 40 * mebi},
    {"sm_86", 86, false, 84, 99 * kibi, 100 * kibi, 1536, 16, 1695000, 9751000, 384, 6 * mebi},
    {"sm_87", 87, false, 16, 163 * kibi, 164 * kibi, 1536, 16, 1300000, 3200000, 256, 4 * mebi},
    {"sm_89", 89, false, 128, 99 * kibi, 100 * kibi, 1536, 24, 2520000, 10501000, 384, 72 * mebi},
    {"sm_90", 90, false, 132, 227 * kibi, 228 * kibi, 2048, 32, 1980000, 2619000, 5120, 50 * mebi},
    {"sm_90a", 90, true, 132, 227 * kibi, 228 * kibi, 2048, 32, 1980000, 2619000, 5120, 50 * mebi},
    {"sm_100", 100, false, 148, 227 * kibi, 228 * kibi, 2048, 32, 1965000, 3996000, 8192,
     126 * mebi},
    {"sm_100a", 100, true, 148, 227 * kibi, 228 * kibi, 2048, 32, 1965000, 3996000, 8192,
     126 * mebi},
    {"sm_120", 120, false, 170, 99 * kibi, 100 * kibi, 1536, 24, 2407000, 14001000, 512, 96 * mebi},
    {"sm_120a", 120, true, 170, 99 * kibi, 100 * kibi, 1536, 24, 2407000, 14001000, 512, 96 * mebi},
};

} // namespace

const Architecture *findArchitecture(std::string_view name) {
  for (const Architecture &architecture : architectures)
    if (name == architecture.name)
      return &architecture;
  return nullptr;
}

} // namespace ingot::simulator
