// SPDX-License-Identifier: Apache-2.0
// Safetensors files.
#include "tests/fuzz/readers/ReaderCases.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> files;
  for (const std::string &header : safetensorsHeaders)
    files.push_back(test::safetensorsFile(header, header.size() < 9 ? "" : "0123456789abcdefg"));
  return files;
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> words = safetensorsWords;
  for (const char *word : {"\"data_offsets\":[0,", "BF16", "F8_E4M3", "F4", "BOOL"})
    words.push_back(word);
  return words;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const MemoryFile file({reinterpret_cast<const char *>(data), size});
  expectCode(trySafetensors(file.path()));
  return 0;
}
