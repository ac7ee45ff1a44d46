// SPDX-License-Identifier: Apache-2.0
// Translates the regular expressions of tokenizer.json (Oniguruma's Ruby syntax) to PCRE2.
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"

#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"
#include "runtime/schema/PatternGuard.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>

namespace ingot::checkpoint {

namespace {

/// Oniguruma's \w: Unicode's word characters, and six digits of Latin-1 that are none.
constexpr std::string_view wordClass =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

/// Why PCRE2 does not take `pattern`, or nothing. The options are those of the runtime.
std::string compileError(const std::string &pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
  const std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error,
                    &offset, nullptr),
      &pcre2_code_free);
  if (code)
    return "";
  PCRE2_UCHAR text[160];
  pcre2_get_error_message(error, text, sizeof text);
  return message(reinterpret_cast<const char *>(text), " at byte ", offset);
}

/// Walks over a pattern and copies it, replacing what the two dialects read differently.
class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  /// What could not be translated, or nothing.
  std::string run() {
    while (at < pattern.size() && problem.empty()) {
      const char c = pattern[at];
      if (c == '\\')
        escape();
      else if (inClass)
        insideClass(c);
      else if (c == '[')
        openClass();
      else
        copy(1);
    }
    return problem;
  }

  std::string out;

private:
  void copy(size_t length) {
    out += pattern.substr(at, length);
    at += length;
  }

  void openClass() {
    inClass = true;
    copy(pattern.substr(at).starts_with("[^") ? 2 : 1);
    if (at < pattern.size() && pattern[at] == ']') // both dialects take it literally here
      copy(1);
  }

  void insideClass(char c) {
    if (pattern.substr(at).starts_with("&&")) {
      problem = "a class intersection (&&)";
    } else if (pattern.substr(at).starts_with("[:")) {
      problem = "a POSIX class";
    } else if (c == '[') {
      problem = "a class within a class";
    } else {
      inClass = c != ']';
      copy(1);
    }
  }

  void replaceClass(std::string_view members, bool negated) {
    if (inClass) {
      out += members;
    } else {
      out += negated ? "[^" : "[";
      out += members;
      out += ']';
    }
    at += 2;
  }

  void escape() {
    if (at + 1 == pattern.size()) {
      problem = "a backslash at the end";
      return;
    }
    const char c = pattern[at + 1];
    switch (c) {
    case 's':
      return replaceClass(whitespaceClass, false);
    case 'w':
      return replaceClass(wordClass, false);
    case 'S':
      return inClass ? copy(2) : replaceClass(whitespaceClass, true);
    case 'p':
    case 'P':
      return property();
    case 'u':
      return codePoint();
    case 'W':
      if (!inClass)
        return replaceClass(wordClass, true);
      [[fallthrough]];
    case 'h': // hexadecimal digits in one dialect, white space in the other
    case 'H':
    case 'R':
    case 'y':
    case 'Y':
    case 'O':
    case 'C':
      problem = std::string("\\") + c + (inClass ? " in a class" : "");
      return;
    default:
      // A character of more than one byte after the backslash stays whole: its other bytes are
      // copied by the caller.
      copy(2);
    }
  }

  /// A name alone is a script here; PCRE2 takes all characters that it is used with as well.
  void property() {
    const std::string_view rest = pattern.substr(at);
    const size_t end = rest.find('}');
    if (!rest.substr(2).starts_with('{') || end == std::string_view::npos)
      return copy(2);
    std::string_view name = rest.substr(3, end - 3);
    const bool isNegated = name.starts_with('^');
    name.remove_prefix(isNegated ? 1 : 0);
    if (name.find_first_of(":=") != std::string_view::npos ||
        !compileError(message(R"(\p{sc:)", name, "}")).empty())
      return copy(end + 1);
    out += message(rest.substr(0, 3), isNegated ? "^" : "", "sc:", name, "}");
    at += end + 1;
  }

  void codePoint() {
    const std::string_view digits = pattern.substr(at + 2, 4);
    if (digits.size() != 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      problem = "\\u without four digits";
      return;
    }
    out += "\\x{";
    out += digits;
    out += '}';
    at += 6;
  }

  std::string_view pattern;
  size_t at = 0;
  bool inClass = false;
  std::string problem;
};

} // namespace

Expected<std::string> translateRegex(std::string_view pattern, const std::string &where) {
  auto refuse = [&](const std::string &why) {
    return Error{"INGOT-E1410",
                 message("the regular expression ", inQuotes(pattern), " is not supported: ", why),
                 where, "rewrite it without that"};
  };
  if (pattern.size() > schema::kMaxPatternBytes || !isUtf8(pattern))
    return refuse(message("longer than ", schema::kMaxPatternBytes, " bytes or not UTF-8"));
  Translator translator(pattern);
  if (const std::string problem = translator.run(); !problem.empty())
    return refuse(problem);
  if (translator.out.size() > schema::kMaxPatternBytes)
    return refuse("it is too long");
  if (const std::string_view work = schema::uncountedWork(translator.out); !work.empty())
    return refuse(std::string(work));
  if (const std::string problem = compileError(translator.out); !problem.empty())
    return refuse(problem);
  return std::move(translator.out);
}

std::string wordRegex(std::string_view digits) {
  return message(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)", digits,
                 R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}

std::string kimiWordRegex() {
  constexpr std::string_view before = R"([^\r\n\p{L}\p{N}]?)",
                             large = R"((?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]))",
                             small = R"((?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}]))",
                             behind = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";
  return message(R"(\p{Han}+|)", before, large, "*", small, "+", behind, "|", before, large, "+",
                 small, "*", behind,
                 R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}

std::string escapeRegex(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view(R"(\^$.[]|()?*+{}-#/&~)").find(c) != std::string_view::npos)
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace ingot::checkpoint
