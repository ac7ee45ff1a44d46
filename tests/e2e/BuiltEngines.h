// SPDX-License-Identifier: Apache-2.0
// Engines that the tests share: built by the real `ingot build` into a temporary folder, once each.
#pragma once

#include "ingot/ingot.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::e2e {

inline constexpr const char *hostTarget = "host";

/// What an engine is made of.
struct EngineRecipe {
  std::filesystem::path model;
  std::string recipe;                    ///< text of the recipe file; empty: none
  std::string target = hostTarget;       ///< `hostTarget`: ingot's own choice for this machine
  std::vector<std::string> options = {}; ///< further options of `ingot build`
};

/// All numbers in f32, so that an engine can be compared with figures computed in f64.
inline constexpr std::string_view f32Recipe = "version: 1\n"
                                              "weights:\n"
                                              "  - {match: \"*\", format: f32}\n"
                                              "activations: f32\n"
                                              "kv_cache: f32\n";

/// Weights as the checkpoint holds them, everything else in f32.
inline constexpr std::string_view storedRecipe = "version: 1\nactivations: f32\nkv_cache: f32\n";

/// Path of the engine file; built at the first call. Throws std::runtime_error with the output of
/// `ingot build` when that fails. The files are removed when the program ends.
std::filesystem::path builtEngine(const EngineRecipe &wanted);

/// The example model of the repository.
std::filesystem::path fablesModel();
/// A file or folder of the test data beside the checkout. Empty when the data is absent.
std::filesystem::path sharedData(std::string_view name);

/// The whole of a file. Throws std::runtime_error when it cannot be read.
std::string readText(const std::filesystem::path &path);

} // namespace ingot::e2e

/// Ends a test with SKIP where the test data is absent.
#define INGOT_NEED_SHARED_DATA()                                                                   \
  if (ingot::e2e::sharedData(".").empty())                                                         \
  GTEST_SKIP() << "../shared/data is absent"
