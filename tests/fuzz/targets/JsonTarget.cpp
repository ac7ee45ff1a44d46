// SPDX-License-Identifier: Apache-2.0
// JSON texts, read as each configuration that a checkpoint may have.
#include "tests/fuzz/readers/ReaderCases.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> texts = modelConfigs;
  texts.insert(texts.end(), quantizationConfigs.begin(), quantizationConfigs.end());
  texts.insert(texts.end(), generationConfigs.begin(), generationConfigs.end());
  return texts;
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> words = modelConfigWords;
  for (const std::string &name : formatNames())
    words.push_back(checkpoint::inQuotes(name));
  return words;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  expectCode(tryModelConfig(text));
  expectCode(tryQuantizationConfig(text));
  expectCode(tryGenerationConfig(text));
  return 0;
}
