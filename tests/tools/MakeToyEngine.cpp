// SPDX-License-Identifier: Apache-2.0
// make-toy-engine FILE [CONTEXT [SEQUENCES [echo]]]: writes the toy engine of the unit tests, for
// tests of programs that need no compiler. "echo": one that repeats what stands 512 tokens before.
#include "tests/unit/engine/ToyEngine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("usage: make-toy-engine FILE [CONTEXT [SEQUENCES [echo]]]\n", stderr);
    return 2;
  }
  bool echoes = argc > 4 && std::strcmp(argv[4], "echo") == 0;
  ingot::test::ToyOptions options = echoes ? ingot::test::echoingToy() : ingot::test::ToyOptions();
  if (argc > 2)
    options.maxContext = std::atoll(argv[2]);
  if (argc > 3)
    options.maxSequences = std::atoll(argv[3]);
  std::vector<uint8_t> engine = ingot::test::makeToyEngine(options);
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char *>(engine.data()), std::streamsize(engine.size()));
  file.close();
  return file ? 0 : 1;
}
