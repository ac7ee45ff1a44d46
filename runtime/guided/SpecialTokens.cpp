// SPDX-License-Identifier: Apache-2.0
// Names of special tokens in texts.
#include "runtime/guided/SpecialTokens.h"

#include <algorithm>

namespace ingot::runtime::guided {

std::string specialBytes(std::string_view name) {
  std::string bytes(1, '\xFF');
  bytes.append(name).push_back('\xFE');
  return bytes;
}

SpecialNames::SpecialNames(std::vector<std::string> given,
                           std::shared_ptr<const TokenVocabulary> vocabulary)
    : names(std::move(given)), vocabulary(std::move(vocabulary)) {
  std::erase(names, std::string());
  std::ranges::sort(names);
}

size_t SpecialNames::lengthAt(std::string_view text) const {
  for (auto end = std::ranges::upper_bound(names, text); end != names.begin();) {
    --end;
    if (text.starts_with(*end))
      return end->size();
    if (end->empty() || (*end)[0] != text[0])
      break;
  }
  return 0;
}

std::string SpecialNames::bytesOf(std::string_view text) const {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const size_t length = lengthAt(text.substr(at));
    if (length > 0)
      bytes += specialBytes(text.substr(at, length));
    else
      bytes += text[at];
    at += std::max<size_t>(length, 1);
  }
  return bytes;
}

bool SpecialNames::isOne(std::string_view text) const {
  return !text.empty() && lengthAt(text) == text.size();
}

std::vector<std::string> SpecialNames::allBytes() const {
  std::vector<std::string> all;
  for (const std::string &name : names)
    all.push_back(specialBytes(name));
  return all;
}

} // namespace ingot::runtime::guided
