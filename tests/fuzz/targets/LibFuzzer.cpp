// SPDX-License-Identifier: Apache-2.0
// What a target has beside libFuzzer's main: broken promises end the program as a crash does, and
// `TARGET --write-seeds FOLDER DICTIONARY` writes what a run begins with.
#include "tests/fuzz/targets/Target.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace ingot::fuzz {

static void writeSeeds(const std::filesystem::path &folder, const std::filesystem::path &words) {
  size_t count = 0;
  for (const std::string &seed : seeds())
    std::ofstream(folder / ("seed-" + std::to_string(count++)), std::ios::binary) << seed;
  std::ofstream dictionary(words);
  for (const std::string &word : fuzz::words()) {
    dictionary << '"';
    for (const unsigned char byte : word) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      dictionary << escaped;
    }
    dictionary << "\"\n";
  }
}

} // namespace ingot::fuzz

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  GTEST_FLAG_SET(break_on_failure, true);
  if (*argc == 4 && std::string_view((*argv)[1]) == "--write-seeds") {
    ingot::fuzz::writeSeeds((*argv)[2], (*argv)[3]);
    std::exit(0);
  }
  return 0;
}
