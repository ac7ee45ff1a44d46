// SPDX-License-Identifier: Apache-2.0
// The vocabulary tests of llama.cpp: texts and the ids they become.
#pragma once

#include "tests/unit/serving/TokenizerFixture.h"

#include <fstream>
#include <sstream>

namespace ingot::test {

/// The cases of a llama.cpp vocabulary test: texts, and the ids of each without a beginning token.
struct GoldenCase {
  std::string text;
  std::vector<int32_t> ids;
};

inline std::vector<GoldenCase> readLlamaCppCases(const std::string &name) {
  const auto folder = sharedData() / "gguf-vocab";
  const std::string input = readFile(folder / ("ggml-vocab-" + name + ".gguf.inp"));
  std::ifstream output(folder / ("ggml-vocab-" + name + ".gguf.out"));
  constexpr std::string_view separator = "\n__ggml_vocab_test__\n";
  std::vector<GoldenCase> cases;
  std::string line;
  for (size_t at = 0; std::getline(output, line);) {
    const size_t end = std::min(input.find(separator, at), input.size());
    GoldenCase golden{input.substr(at, end - at), {}};
    std::istringstream ids(line);
    for (int32_t id; ids >> id;)
      golden.ids.push_back(id);
    cases.push_back(std::move(golden));
    at = std::min(end + separator.size(), input.size());
  }
  EXPECT_EQ(cases.size(), 46u) << name;
  return cases;
}

inline void expectCases(const std::string &name, const LoadedTokenizer &tokenizer,
                        const std::vector<GoldenCase> &cases) {
  size_t passed = 0;
  for (const GoldenCase &golden : cases) {
    const std::vector<int32_t> ids = encode(tokenizer, golden.text, false, /*parseSpecial=*/false);
    EXPECT_EQ(ids, golden.ids) << name << ": '" << golden.text << "'";
    passed += ids == golden.ids;
  }
  std::printf("%-44s %3zu of %3zu\n", name.c_str(), passed, cases.size());
}

} // namespace ingot::test
