// SPDX-License-Identifier: Apache-2.0
// What tests of the readers share: the question whether a reader failed with the right code, and
// where test data is.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "tests/unit/checkpoint/CheckpointFiles.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace ingot::test {

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
