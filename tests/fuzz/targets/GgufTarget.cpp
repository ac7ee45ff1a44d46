// SPDX-License-Identifier: Apache-2.0
// GGUF files: the container, the configuration in it, and its tokenizer.
#include "tests/fuzz/readers/ReaderCases.h"
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/serving/TokenizerCases.h"

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> files = test::smallGgufs();
  files.push_back(smallGguf());
  for (std::string &file : ggufModels())
    files.push_back(std::move(file));
  return files;
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> words = ggufWords;
  for (const char *word : {"GGUF", "general.alignment", "tokenizer.ggml.", "gpt2", "llama-bpe"})
    words.push_back(word);
  return words;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const MemoryFile file({reinterpret_cast<const char *>(data), size});
  const std::string code = tryGguf(file.path());
  expectCode(code);
  if (!code.empty())
    return 0;
  expectCode(tryModelFile(file.path()));
  expectCode(test::tryReader(checkpoint::readTokenizer(file.path())));
  return 0;
}
