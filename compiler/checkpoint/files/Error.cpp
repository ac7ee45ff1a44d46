// SPDX-License-Identifier: Apache-2.0
// The text form of errors.
#include "compiler/checkpoint/files/Error.h"

#include <cstdio>

namespace ingot::checkpoint {

std::string Error::str() const {
  std::string out = code + ": " + what;
  if (!where.empty())
    out += " (" + where + ")";
  if (!fix.empty())
    out += "; " + fix;
  return out;
}

std::string printable(std::string_view text) {
  constexpr size_t longest = 160;
  if (text.size() > longest) {
    std::string head = printable(text.substr(0, longest / 2));
    return head + "..." + printable(text.substr(text.size() - longest / 2));
  }
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    out += escaped;
  }
  return out;
}

std::string inQuotes(std::string_view text) { return '"' + printable(text) + '"'; }

void appendPart(std::string &out, double part) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", part);
  // The shortest form that reads back as the same number.
  for (int precision = 1; precision < 17; ++precision) {
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", precision, part);
    double back = 0;
    if (std::sscanf(shorter, "%lf", &back) == 1 && back == part) {
      out += shorter;
      return;
    }
  }
  out += digits;
}

} // namespace ingot::checkpoint
