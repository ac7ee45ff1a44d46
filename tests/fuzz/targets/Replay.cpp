// SPDX-License-Identifier: Apache-2.0
// Gives a target what it begins with and what fuzzing has found, so that every build tries both.
#include "tests/fuzz/targets/Target.h"

#include <fstream>

namespace ingot::fuzz {
namespace {

void replay(const std::vector<std::string> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(inputs[i].data()), inputs[i].size());
  }
}

/// The inputs of a packed corpus, as tests/fuzz/fuzz.py writes it: each after its length in a line.
std::vector<std::string> readCorpus(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> inputs;
  std::string length;
  while (std::getline(file, length)) {
    std::string &input = inputs.emplace_back(std::stoul(length), '\0');
    file.read(input.data(), static_cast<std::streamsize>(input.size()));
    EXPECT_TRUE(file) << path << " ends early";
  }
  return inputs;
}

TEST(Replay, Seeds) { replay(seeds()); }

TEST(Replay, Corpus) {
  const std::vector<std::string> inputs = readCorpus(INGOT_CORPUS);
  EXPECT_FALSE(inputs.empty());
  replay(inputs);
}

} // namespace
} // namespace ingot::fuzz
