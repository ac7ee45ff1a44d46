// SPDX-License-Identifier: Apache-2.0
// Checks the sizes once; rows are read where they lie.
#include "runtime/tools/LogitsFile.h"

#include <cmath>
#include <cstring>

namespace ingot::runtime {

namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr size_t kHead = kMagic.size() + 3 * sizeof(uint32_t);
// Below these no product of the sizes overflows.
constexpr uint32_t kLongestWindow = 1u << 24, kMostWindows = 1u << 24,
                   kLargestVocabulary = 1u << 28;

template <class T> T at(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Status malformed(const std::string &path, const std::string &what) {
  return Status::error("INGOT-E6028", path + ": " + what,
                       "make it again with llama-perplexity --kl-divergence-base");
}

} // namespace

Result<LogitsFile> LogitsFile::open(const std::string &path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok())
    return std::move(mapped).status();
  LogitsFile result;
  result.path = path;
  result.file = std::move(*mapped);
  const std::span<const uint8_t> bytes = result.file.bytes();
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return malformed(path, "is no file of log-probabilities");
  const auto window = at<uint32_t>(bytes, 8), vocabulary = at<uint32_t>(bytes, 12),
             windows = at<uint32_t>(bytes, 16);
  if (window < 4 || window > kLongestWindow || vocabulary < 1 || vocabulary > kLargestVocabulary ||
      windows < 1 || windows > kMostWindows)
    return malformed(path, "has an impossible window, vocabulary or number of windows");
  result.windowTokens = window;
  result.tokensKnown = vocabulary;
  result.windowCount = windows;
  // In steps, since a product of all would overflow.
  const size_t perWindow = 4 * size_t(window) + result.scored() * result.rowBytes();
  if ((bytes.size() - kHead) / perWindow != windows || (bytes.size() - kHead) % perWindow != 0)
    return malformed(path, "has " + std::to_string(bytes.size()) + " bytes, not those of " +
                               std::to_string(windows) + " windows of " + std::to_string(window) +
                               " tokens of a vocabulary of " + std::to_string(vocabulary));
  for (int32_t token : result.tokens())
    if (token < 0 || uint32_t(token) >= vocabulary)
      return malformed(path, "token " + std::to_string(token) + " is outside its vocabulary");
  return result;
}

std::vector<int32_t> LogitsFile::tokens() const {
  std::vector<int32_t> tokens(windowTokens * windowCount);
  std::memcpy(tokens.data(), file.bytes().data() + kHead, 4 * tokens.size());
  return tokens;
}

Status LogitsFile::read(size_t window, size_t position,
                        std::vector<float> &logProbabilities) const {
  const size_t row = window * scored() + position - windowTokens / 2;
  const std::span<const uint8_t> bytes =
      file.bytes().subspan(kHead + 4 * windowTokens * windowCount + row * rowBytes(), rowBytes());
  const auto scale = at<float>(bytes, 0), lowest = at<float>(bytes, 4);
  if (!std::isfinite(scale) || !std::isfinite(lowest))
    return malformed(path, "has a log-probability that is no number, in window " +
                               std::to_string(window));
  logProbabilities.resize(tokensKnown);
  for (size_t i = 0; i < tokensKnown; ++i)
    logProbabilities[i] = lowest + scale * float(at<uint16_t>(bytes, 8 + 2 * i));
  return {};
}

} // namespace ingot::runtime
