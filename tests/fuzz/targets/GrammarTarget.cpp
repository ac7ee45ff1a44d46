// SPDX-License-Identifier: Apache-2.0
// Grammars in both notations; the answers of one in 32 are walked through their masks.
#include "tests/fuzz/guided/GuidedCases.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;

std::vector<std::string> fuzz::seeds() { return grammarSeeds; }

std::vector<std::string> fuzz::words() { return grammarWords; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  // The same input takes the same way.
  uint64_t state = std::hash<std::string>()(text);
  auto draw = [&](uint64_t count) { return (state = fuzz::mixed(state + 1)) % count; };
  const fuzz::Depth depth = draw(32) == 0 ? fuzz::Depth::Walk : fuzz::Depth::Read;
  fuzz::expectCode(fuzz::tryGrammar(text, draw, depth));
  return 0;
}
