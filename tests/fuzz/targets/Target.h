// SPDX-License-Identifier: Apache-2.0
// What every libFuzzer target defines, and how it gives its bytes to a reader of files.
#pragma once

#include "tests/fuzz/FuzzSession.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace ingot::fuzz {

/// Good inputs, where a corpus begins.
std::vector<std::string> seeds();

/// Words of the format, for the dictionary.
std::vector<std::string> words();

/// `bytes` as a file that is never on a disk.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes) : descriptor(::memfd_create("input", MFD_CLOEXEC)) {
    EXPECT_EQ(::write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { ::close(descriptor); }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

} // namespace ingot::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
