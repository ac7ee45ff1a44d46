// SPDX-License-Identifier: Apache-2.0
// The same library as for tokenizers, and the same care: its step limit bounds the work of a match
// only where scans can be undone, and the size of a pattern bounds that of its compiled form.
#include "compiler/checkpoint/config/ModulePattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxPatternBytes = 1024, maxModuleBytes = 4096;
constexpr uint32_t stepLimit = 20000, heapLimitKib = 1024;
constexpr uint32_t options =
    PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_NO_AUTO_CAPTURE | PCRE2_NO_AUTO_POSSESS;

template <auto release> struct Releaser {
  template <class T> void operator()(T *object) const { release(object); }
};
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;

bool isWordCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// What Python would read otherwise, or what takes steps that are not counted; else nothing.
std::string_view unsupported(std::string_view pattern) {
  bool inClass = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const std::string_view rest = pattern.substr(at);
    const char c = rest[0];
    if (c == '\\') {
      if (rest.size() > 1 && isWordCharacter(rest[1]) &&
          std::string_view("dDwWsSbB").find(rest[1]) == std::string_view::npos)
        return "an escape other than \\d, \\w, \\s, \\b and their opposites";
      ++at;
    } else if (inClass) {
      if (c == '[')
        return "a bracket within brackets";
      inClass = c != ']';
    } else if (c == '[') {
      inClass = true;
      at += rest.starts_with("[^") ? 1 : 0;
      if (pattern.substr(at + 1).starts_with(']'))
        ++at;
    } else if (rest.starts_with("(*") || (rest.starts_with("(?") && !rest.starts_with("(?:"))) {
      return "a group other than ( and (?:";
    } else if (rest.starts_with("{,")) {
      return "a repeat without a lower bound";
    } else if ((c == '*' || c == '+' || c == '?' || c == '}') && rest.substr(1).starts_with('+')) {
      return "a possessive repeat";
    }
  }
  return {};
}

} // namespace

Error ModulePattern::refuse(std::string_view why) const {
  return Error{"INGOT-E1120", message("the pattern ", inQuotes(text), " is not supported: ", why),
               where, "name the modules with a simpler pattern"};
}

Expected<ModulePattern> ModulePattern::compile(std::string_view pattern, const std::string &where) {
  ModulePattern result{std::string(pattern), where, nullptr};
  if (pattern.size() > maxPatternBytes)
    return result.refuse(message("it is longer than ", maxPatternBytes, " bytes"));
  if (const std::string_view what = unsupported(pattern); !what.empty())
    return result.refuse(what);
  const std::string whole = message("(?:.*\\.)?(?:", pattern, ")$");
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(whole.data()), whole.size(),
                                   options, &error, &offset, nullptr);
  if (!code) {
    PCRE2_UCHAR text[160] = {};
    pcre2_get_error_message(error, text, sizeof text);
    return result.refuse(reinterpret_cast<const char *>(text));
  }
  result.code = std::shared_ptr<const void>(code, [](const void *p) {
    pcre2_code_free(static_cast<pcre2_code *>(const_cast<void *>(p)));
  });
  return result;
}

Expected<bool> ModulePattern::matches(std::string_view module) const {
  if (module.size() > maxModuleBytes)
    return refuse(message("a name is longer than ", maxModuleBytes, " bytes"));
  const MatchContext context(pcre2_match_context_create(nullptr));
  const MatchData data(pcre2_match_data_create(1, nullptr));
  if (!context || !data)
    return refuse("there is no memory to match it");
  pcre2_set_match_limit(context.get(), stepLimit);
  pcre2_set_heap_limit(context.get(), heapLimitKib);
  const int found = pcre2_match(static_cast<const pcre2_code *>(code.get()),
                                reinterpret_cast<PCRE2_SPTR>(module.data()), module.size(), 0, 0,
                                data.get(), context.get());
  if (found < 0 && found != PCRE2_ERROR_NOMATCH)
    return refuse(message("matching ", inQuotes(module), " takes too many steps"));
  return found >= 0;
}

} // namespace ingot::checkpoint
