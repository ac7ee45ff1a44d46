// SPDX-License-Identifier: Apache-2.0
// A sentencepiece "precompiled character map": which texts a normalizer replaces, and by what.
#include "runtime/serving/CharacterMap.h"

#include "runtime/serving/Unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace ingot::runtime {

namespace {

/// Clusters of this many bytes or more are mapped character by character.
constexpr size_t longCluster = 6;

/// Longer texts are not looked for: keeps the work proportional to the text.
constexpr size_t maxMatchBytes = 256;

// The fields of a unit of the double array.
bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

/// The end of the cluster of characters that starts at `begin`.
size_t clusterEnd(std::string_view text, size_t begin) {
  size_t end = begin;
  auto previous = static_cast<utf8proc_int32_t>(nextCharacter(text, end));
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    size_t next = end;
    const auto character = static_cast<utf8proc_int32_t>(nextCharacter(text, next));
    if (utf8proc_grapheme_break_stateful(previous, character, &state))
      break;
    previous = character;
    end = next;
  }
  return end;
}

} // namespace

std::optional<CharacterMap> CharacterMap::parse(std::string_view bytes) {
  uint32_t trieBytes = 0;
  if (bytes.size() < sizeof trieBytes)
    return std::nullopt;
  std::memcpy(&trieBytes, bytes.data(), sizeof trieBytes);
  bytes.remove_prefix(sizeof trieBytes);
  if (trieBytes == 0 || trieBytes % 4 != 0 || trieBytes > bytes.size())
    return std::nullopt;
  CharacterMap map;
  map.units.resize(trieBytes / 4);
  std::memcpy(map.units.data(), bytes.data(), trieBytes);
  map.replacements = bytes.substr(trieBytes);
  if (!map.replacements.ends_with('\0') ||
      validUtf8Prefix(map.replacements) != map.replacements.size())
    return std::nullopt;
  return map;
}

CharacterMap::Match CharacterMap::match(std::string_view text, bool longest) const {
  Match found{0, {}};
  size_t node = offsetOf(units[0]);
  for (size_t i = 0; i < std::min(text.size(), maxMatchBytes); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units.size() || labelOf(units[node]) != byte)
      break;
    const uint32_t unit = units[node];
    node ^= offsetOf(unit);
    if (!hasLeaf(unit))
      continue;
    if (node >= units.size())
      break;
    auto startsCharacter = [](std::string_view in, size_t at) {
      return at == in.size() || (static_cast<unsigned char>(in[at]) & 0xC0) != 0x80;
    };
    const size_t at = valueOf(units[node]);
    if (at >= replacements.size() || !startsCharacter(replacements, at) ||
        !startsCharacter(text, i + 1))
      continue;
    found = {i + 1, std::string_view(replacements.data() + at)}; // ends at the zero byte
    if (!longest)
      break;
  }
  return found;
}

bool CharacterMap::appendMapped(std::string_view part, std::string &out) const {
  const Match found = match(part, /*longest=*/false);
  if (found.length == 0)
    return false;
  out += found.replacement;
  return true;
}

std::string CharacterMap::mapGraphemes(std::string_view text, size_t maxBytes) const {
  std::string out;
  for (size_t at = 0; at < text.size() && out.size() <= maxBytes;) {
    const std::string_view cluster = text.substr(at, clusterEnd(text, at) - at);
    at += cluster.size();
    if (cluster.size() < longCluster && appendMapped(cluster, out))
      continue;
    for (size_t begin = 0; begin < cluster.size() && out.size() <= maxBytes;) {
      size_t end = begin;
      nextCharacter(cluster, end);
      const std::string_view character = cluster.substr(begin, end - begin);
      if (!appendMapped(character, out))
        out += character;
      begin = end;
    }
  }
  return out;
}

std::string CharacterMap::mapPrefixes(std::string_view text, size_t maxBytes) const {
  std::string out;
  for (size_t at = 0; at < text.size() && out.size() <= maxBytes;) {
    const Match found = match(text.substr(at), /*longest=*/true);
    size_t end = at + found.length;
    if (found.length > 0) {
      out += found.replacement;
    } else {
      nextCharacter(text, end);
      out += text.substr(at, end - at);
    }
    at = end;
  }
  return out;
}

} // namespace ingot::runtime
