// SPDX-License-Identifier: Apache-2.0
// What tests of the readers share: temporary directories, safetensors files made on the spot, and
// the question whether a reader failed with the right code.
#pragma once

#include "compiler/checkpoint/Error.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace ingot::test {

/// A directory that is gone when the test ends.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot-test-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(root); }

  const std::filesystem::path &path() const { return root; }

  std::filesystem::path write(const std::string &name, std::string_view content) const {
    // Some file systems write a truncated file to disk at once, but not a new one.
    std::filesystem::remove(root / name);
    std::ofstream(root / name, std::ios::binary) << content;
    return root / name;
  }

private:
  std::filesystem::path root;
};

/// A safetensors file: `json` with its length before and `data` behind.
inline std::string safetensorsFile(std::string_view json, std::string_view data = "") {
  std::string file;
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i) & 0xff);
  return file.append(json).append(data);
}

/// Whether `result` failed with `code`, and its message names each of `mentions`.
template <class T>
testing::AssertionResult failsWith(const checkpoint::Expected<T> &result, std::string_view code,
                                   std::initializer_list<std::string_view> mentions = {}) {
  if (result)
    return testing::AssertionFailure() << "it succeeded";
  std::string text = result.error().str();
  if (result.error().code != code)
    return testing::AssertionFailure() << "it failed with: " << text;
  for (std::string_view mention : mentions)
    if (text.find(mention) == text.npos)
      return testing::AssertionFailure() << "\"" << mention << "\" is not in: " << text;
  return testing::AssertionSuccess();
}

/// Whether `result` holds a value; says the error otherwise.
template <class T> testing::AssertionResult succeeds(const checkpoint::Expected<T> &result) {
  if (result)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().str();
}

/// A folder or file of the shared test data.
inline std::filesystem::path sharedData(std::string_view name) {
  return std::filesystem::path(INGOT_SHARED_DIR) / "data" / name;
}

} // namespace ingot::test

/// Skips the test when the shared test data is absent.
#define INGOT_NEEDS_SHARED_DATA()                                                                  \
  if (!std::filesystem::exists(ingot::test::sharedData("")))                                       \
  GTEST_SKIP() << "shared test data is absent"
