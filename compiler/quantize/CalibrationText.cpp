// SPDX-License-Identifier: Apache-2.0
// Windows are drawn without replacement by a generator that is the same everywhere.
#include "compiler/quantize/CalibrationText.h"

#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace ingot::quantize;
using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;

/// A text is read whole; what a calibration needs of it is far less.
static constexpr uint64_t kLongestText = uint64_t{64} << 20;

Expected<std::vector<std::vector<int32_t>>>
ingot::quantize::readCalibrationText(const TextOptions &options, std::span<const int32_t> prefix,
                                     const TokenizeText &tokenize) {
  const auto own = static_cast<size_t>(options.length) - prefix.size();
  std::vector<int32_t> tokens;
  auto add = [&](std::string_view text) -> checkpoint::Outcome {
    auto ids = tokenize(text);
    if (!ids)
      return ids.error();
    tokens.insert(tokens.end(), ids->begin(), ids->end());
    return {};
  };
  for (const std::filesystem::path &file : options.files) {
    auto text = checkpoint::readText(file, kLongestText);
    if (!text)
      return text.error();
    if (auto added = add(*text); !added)
      return added.error();
  }
  if (options.files.empty())
    if (auto added = add(builtInText()); !added)
      return added.error();
  std::vector<size_t> windows(tokens.size() / own);
  if (windows.empty())
    return Error{"INGOT-E2120",
                 checkpoint::message("the calibration text has ", tokens.size(),
                                     " tokens, a sequence has ", options.length),
                 options.files.empty() ? "the built-in text" : options.files.front().string(),
                 "give more text, or a smaller --length"};
  std::iota(windows.begin(), windows.end(), size_t{0});
  std::mt19937_64 random(options.seed);
  // std::shuffle is not the same in every library.
  for (size_t i = windows.size() - 1; i > 0; --i)
    std::swap(windows[i], windows[random() % (i + 1)]);
  windows.resize(std::min(windows.size(), static_cast<size_t>(options.samples)));
  std::sort(windows.begin(), windows.end());
  std::vector<std::vector<int32_t>> sequences;
  for (size_t window : windows) {
    std::vector<int32_t> sequence(prefix.begin(), prefix.end());
    auto first = tokens.begin() + static_cast<std::ptrdiff_t>(window * own);
    sequence.insert(sequence.end(), first, first + static_cast<std::ptrdiff_t>(own));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}
