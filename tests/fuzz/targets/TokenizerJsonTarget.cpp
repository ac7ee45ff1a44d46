// SPDX-License-Identifier: Apache-2.0
// The tokenizer.json of Hugging Face; what loads encodes and decodes.
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/serving/TokenizerCases.h"

using namespace ingot;

std::vector<std::string> fuzz::seeds() {
  return {test::everyStep(), test::unigramSteps(), test::everyByte()};
}

std::vector<std::string> fuzz::words() { return test::tokenizerWords; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::expectCode(test::tryReader(checkpoint::parseTokenizerJson(
      {reinterpret_cast<const char *>(data), size}, "tokenizer.json")));
  return 0;
}
