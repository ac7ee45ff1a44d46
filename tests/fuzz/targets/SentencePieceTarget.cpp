// SPDX-License-Identifier: Apache-2.0
// Protobuf: the tokenizer.model of sentencepiece.
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/serving/TokenizerCases.h"

using namespace ingot;

std::vector<std::string> fuzz::seeds() {
  return {test::smallModel({}), test::smallModel({.byteFallback = true}),
          test::smallUnigramModel()};
}

std::vector<std::string> fuzz::words() {
  return {std::string(test::sample.substr(0, 4)), "<0x41>", "<unk>", "\u2581"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::expectCode(test::tryReader(checkpoint::parseSentencePiece(
      {reinterpret_cast<const char *>(data), size}, "tokenizer.model")));
  return 0;
}
