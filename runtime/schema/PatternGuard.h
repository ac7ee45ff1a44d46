// SPDX-License-Identifier: Apache-2.0
// Which regular expressions the tokenizer section may hold: those whose work a limit on PCRE2's
// steps bounds. The compiler writes no others, and the runtime takes none.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ingot::schema {

inline constexpr size_t kMaxPatternBytes = 4 * 1024;
inline constexpr unsigned kMaxRepeatCount = 64;

/// Whether a number of the repeat "{n,m}" at `at` is above kMaxRepeatCount.
inline bool repeatsTooOften(std::string_view pattern, size_t at) {
  unsigned count = 0;
  for (char c : pattern.substr(at + 1)) {
    if (c >= '0' && c <= '9')
      count = count * 10 + static_cast<unsigned>(c - '0');
    else if (c == ',')
      count = 0;
    else
      break;
    if (count > kMaxRepeatCount)
      return true;
  }
  return false;
}

/// What in `pattern` (PCRE2's syntax) would make work that no limit counts, or nothing: possessive
/// and atomic repeats, repeats within lookarounds, long fixed repeats, references, verbs and
/// recursion.
inline std::string_view uncountedWork(std::string_view pattern) {
  std::vector<bool> lookarounds; // per open group: is it, or does it lie in, one
  bool inClass = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const std::string_view rest = pattern.substr(at);
    if (c == '\\') {
      const char escaped = at + 1 < pattern.size() ? pattern[at + 1] : '\\';
      if (std::string_view("123456789gkKXQEG").find(escaped) != std::string_view::npos)
        return "a reference, \\G, \\K, \\Q or \\X";
      ++at;
      // The braces of \p{L} and \x{20} repeat nothing.
      const size_t brace = rest.size() > 2 && rest[2] == '{' ? pattern.find('}', at) : rest.npos;
      if (std::string_view("pPxoN").find(escaped) != std::string_view::npos && brace != rest.npos)
        at = brace;
    } else if (inClass) {
      inClass = c != ']';
    } else if (c == '[') {
      inClass = true;
      if (rest.starts_with("[^]"))
        at += 2;
      else if (rest.starts_with("[]"))
        ++at;
    } else if (c == '(') {
      const bool look = rest.starts_with("(?=") || rest.starts_with("(?!") ||
                        rest.starts_with("(?<=") || rest.starts_with("(?<!");
      if (rest.starts_with("(*") || (rest.starts_with("(?") && !look && !rest.starts_with("(?:") &&
                                     !rest.starts_with("(?i:")))
        return "a group other than (, (?:, (?i:, lookahead and lookbehind";
      lookarounds.push_back(look || (!lookarounds.empty() && lookarounds.back()));
      at += look ? (rest[2] == '<' ? 3 : 2) : rest.starts_with("(?") ? 1 : 0;
    } else if (c == ')') {
      if (!lookarounds.empty())
        lookarounds.pop_back();
    } else if (c == '*' || c == '+' || c == '{') {
      if (!lookarounds.empty() && lookarounds.back())
        return "a repeat within a lookaround";
      if (c == '{' && repeatsTooOften(pattern, at))
        return "a repeat count above 64";
      const size_t end = c == '{' ? pattern.find('}', at) : at;
      if (end != std::string_view::npos && pattern.substr(end + 1).starts_with('+'))
        return "a possessive repeat";
    }
  }
  return {};
}

} // namespace ingot::schema
