// SPDX-License-Identifier: Apache-2.0
// A compiled regular expression whose cost is bounded: hostile patterns and texts end in an error.
#include "runtime/serving/Regex.h"

#include "runtime/schema/PatternGuard.h"
#include "runtime/serving/Unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

namespace ingot::runtime {

namespace {

constexpr uint32_t heapLimitKib = 64 * 1024;

// PCRE2 counts a step when it may have to come back, so a scan is paid for only if it can be
// undone: what makes scans final is refused (PatternGuard.h) and not made by the compiler.
constexpr uint32_t compileOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                                    PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE |
                                    PCRE2_NO_AUTO_POSSESS | PCRE2_NO_DOTSTAR_ANCHOR;

// A match is tried with few steps first and with more only if it needs them, so that what it is
// charged is near what it used: PCRE2 has a limit per match but does not tell the steps taken.
constexpr uint32_t firstStepLimit = 64;
constexpr uint32_t stepLimitGrowth = 8;
constexpr uint64_t freeSteps = uint64_t(1) << 22;
constexpr uint64_t stepsPerByte = 256;

std::string describe(int code) {
  PCRE2_UCHAR buffer[160];
  if (pcre2_get_error_message(code, buffer, sizeof buffer) < 0)
    return "error " + std::to_string(code);
  return reinterpret_cast<const char *>(buffer);
}

template <auto release> struct Releaser {
  template <class T> void operator()(T *object) const { release(object); }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Releaser<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;

Status outOfMemory() {
  return Status::error("INGOT-E6404", "no memory for matching a regular expression");
}

} // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > schema::kMaxPatternBytes)
    return Status::error("INGOT-E5404",
                         "regular expression of " + std::to_string(pattern.size()) + " bytes",
                         "at most " + std::to_string(schema::kMaxPatternBytes) + " are allowed");
  if (const std::string_view work = schema::uncountedWork(pattern); !work.empty())
    return Status::error("INGOT-E5404",
                         "regular expression '" + std::string(pattern) + "': " + std::string(work) +
                             " is not supported",
                         "correct the tokenizer of the checkpoint and build again");
  CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context)
    return outOfMemory();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   compileOptions, &error, &offset, context.get());
  if (!code)
    return Status::error("INGOT-E5404",
                         "regular expression '" + std::string(pattern) + "' at byte " +
                             std::to_string(offset) + ": " + describe(error),
                         "correct the tokenizer of the checkpoint and build again");
  Regex regex;
  regex.code = std::shared_ptr<const void>(code, [](const void *p) {
    pcre2_code_free(static_cast<pcre2_code *>(const_cast<void *>(p)));
  });
  return regex;
}

struct Regex::Search {
  const pcre2_code *code;
  std::string_view text;
  MatchContext context;
  MatchData data;
  uint64_t stepsLeft;

  /// Matches at exactly `offset`: the end of the match, or `offset` if there is none.
  Result<size_t> matchAt(size_t offset) {
    uint64_t limit = firstStepLimit;
    while (true) {
      if (stepsLeft < limit || limit > UINT32_MAX)
        return Status::error("INGOT-E6403",
                             "a regular expression of the tokenizer needs too many steps at byte " +
                                 std::to_string(offset) + " of the text",
                             "shorten the text");
      stepsLeft -= limit;
      pcre2_set_match_limit(context.get(), static_cast<uint32_t>(limit));
      const int rc =
          pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), offset,
                      PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (rc >= 0) {
        const PCRE2_SIZE *vector = pcre2_get_ovector_pointer(data.get());
        // \K can move the start; the match counts from where it was tried.
        return vector[1] > offset ? vector[1] : offset;
      }
      if (rc == PCRE2_ERROR_NOMATCH)
        return offset;
      if (rc != PCRE2_ERROR_MATCHLIMIT)
        return Status::error("INGOT-E6403",
                             "a regular expression of the tokenizer failed at byte " +
                                 std::to_string(offset) + " of the text: " + describe(rc),
                             "shorten the text");
      limit *= stepLimitGrowth;
    }
  }
};

Status Regex::findAll(std::string_view text, std::vector<Span> &matches) const {
  const auto *compiled = static_cast<const pcre2_code *>(code.get());
  Search search{compiled, text, MatchContext(pcre2_match_context_create(nullptr)),
                MatchData(pcre2_match_data_create(1, nullptr)),
                freeSteps + stepsPerByte * text.size()};
  if (!search.context || !search.data)
    return outOfMemory();
  pcre2_set_heap_limit(search.context.get(), heapLimitKib);
  size_t offset = 0;
  while (offset < text.size()) {
    Result<size_t> end = search.matchAt(offset);
    if (!end.ok())
      return end.status();
    if (*end > offset) {
      matches.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(*end)});
      offset = *end;
    } else {
      offset += utf8Length(static_cast<unsigned char>(text[offset]));
    }
  }
  return Status::success();
}

} // namespace ingot::runtime
