// SPDX-License-Identifier: Apache-2.0
// Keys are kept and compared as digests, all of them each time.
#include "runtime/server/ApiKeys.h"

#include "runtime/tools/SessionArguments.h"

#include <algorithm>

namespace ingot::runtime {

Result<ApiKeys> ApiKeys::load(const std::string &path) {
  Result<std::string> text = readTextFile(path, 1 << 20);
  if (!text.ok())
    return std::move(text).status();
  ApiKeys keys;
  std::string_view rest = *text;
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.empty() || line[0] == '#')
      continue;
    if (!std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c < 127; }))
      return Status::error("INGOT-E7218",
                           path + ": line " + std::to_string(number) +
                               ": a key has a space or a character that is not ASCII",
                           "write one key a line, of visible ASCII characters");
    keys.digests.push_back(sha256(line.data(), line.size()));
  }
  if (keys.digests.empty())
    return Status::error("INGOT-E7218", path + ": there is no key in it",
                         "write one key a line, or leave the option out");
  return keys;
}

bool ApiKeys::admits(std::string_view authorization, std::string_view xApiKey) const {
  if (digests.empty() || has(xApiKey))
    return true;
  constexpr std::string_view scheme = "bearer ";
  std::string_view given = authorization.substr(0, scheme.size());
  bool isBearer = std::equal(given.begin(), given.end(), scheme.begin(), scheme.end(),
                             [](char one, char other) { return (one | 0x20) == other; });
  return isBearer && has(authorization.substr(scheme.size()));
}

bool ApiKeys::has(std::string_view key) const {
  Digest digest = sha256(key.data(), key.size());
  uint8_t admitted = 0;
  for (const Digest &other : digests) {
    uint8_t difference = 0;
    for (size_t i = 0; i < digest.size(); ++i)
      difference |= uint8_t(digest[i] ^ other[i]);
    admitted |= difference == 0;
  }
  return admitted != 0;
}

} // namespace ingot::runtime
