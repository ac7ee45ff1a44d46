// SPDX-License-Identifier: Apache-2.0
// The steps that rewrite a text before it is cut: Unicode forms, Prepend, Replace, Strip.
#include "runtime/serving/Normalizer.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/Unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace ingot::runtime {

namespace {

using schema::NormalizerKind;

// Ordering marks is quadratic in how many follow each other. Unicode's stream-safe format
// allows 30.
constexpr size_t maxMarksInARow = 256;

bool isAscii(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) >= 0x80)
      return false;
  return true;
}

Status checkMarks(std::string_view text) {
  size_t marks = 0;
  for (size_t offset = 0; offset < text.size();) {
    const size_t start = offset;
    const char32_t character = nextCharacter(text, offset);
    const auto *property = utf8proc_get_property(static_cast<utf8proc_int32_t>(character));
    marks = property->combining_class ? marks + 1 : 0;
    if (marks > maxMarksInARow)
      return Status::error("INGOT-E6405",
                           "more than " + std::to_string(maxMarksInARow) +
                               " combining marks in a row, at byte " + std::to_string(start) +
                               " of the text",
                           "remove them");
  }
  return Status::success();
}

Status toUnicodeForm(std::string &text, NormalizerKind kind) {
  if (isAscii(text))
    return Status::success();
  if (Status status = checkMarks(text); !status.ok())
    return status;
  int options = UTF8PROC_STABLE;
  options |= kind == NormalizerKind::Nfc || kind == NormalizerKind::Nfkc ? UTF8PROC_COMPOSE
                                                                         : UTF8PROC_DECOMPOSE;
  if (kind == NormalizerKind::Nfkc || kind == NormalizerKind::Nfkd)
    options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t *out = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(out, &std::free);
  if (length < 0)
    return Status::error("INGOT-E6404",
                         std::string("Unicode normalization failed: ") + utf8proc_errmsg(length));
  if (static_cast<size_t>(length) > maxTextBytes)
    return textTooLong();
  text.assign(reinterpret_cast<const char *>(out), static_cast<size_t>(length));
  return Status::success();
}

/// Replaces what `matches` cover by `content`.
Status replaceSpans(std::string &text, const std::vector<Span> &matches, std::string_view content) {
  if (matches.empty())
    return Status::success();
  std::string out;
  size_t end = 0;
  for (const Span &match : matches) {
    out.append(text, end, match.begin - end);
    out += content;
    end = match.end;
    if (out.size() > maxTextBytes)
      return textTooLong();
  }
  out.append(text, end);
  if (out.size() > maxTextBytes)
    return textTooLong();
  text = std::move(out);
  return Status::success();
}

std::vector<Span> findText(std::string_view text, std::string_view pattern) {
  std::vector<Span> matches;
  for (size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at)) {
    matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + pattern.size())});
    at += pattern.size();
  }
  return matches;
}

} // namespace

Status textTooLong() {
  return Status::error("INGOT-E6402",
                       "the text is longer than " + std::to_string(maxTextBytes) + " bytes",
                       "shorten it");
}

Result<Normalizer> Normalizer::create(const schema::Tokenizer &description) {
  Normalizer normalizer;
  if (!description.normalizer())
    return normalizer;
  for (const schema::NormalizerStep *from : *description.normalizer()) {
    Step step{static_cast<uint8_t>(from->kind()),
              from->pattern() ? from->pattern()->str() : "",
              from->content() ? from->content()->str() : "",
              from->left(),
              from->right(),
              from->at_start(),
              {}};
    const bool replaces =
        from->kind() == NormalizerKind::ReplaceText || from->kind() == NormalizerKind::ReplaceRegex;
    if (from->kind() > NormalizerKind::MAX || (replaces && step.pattern.empty()) ||
        validUtf8Prefix(step.content) != step.content.size() ||
        validUtf8Prefix(step.pattern) != step.pattern.size())
      return Status::error("INGOT-E5403",
                           "normalizer step " + std::to_string(normalizer.steps.size()) +
                               " of the tokenizer is malformed",
                           "build the engine again");
    if (from->kind() == NormalizerKind::ReplaceRegex) {
      Result<Regex> regex = Regex::compile(step.pattern);
      if (!regex.ok())
        return regex.status();
      step.regex = *std::move(regex);
    }
    normalizer.steps.push_back(std::move(step));
  }
  return normalizer;
}

Status Normalizer::normalize(std::string &text, bool atStart) const {
  for (const Step &step : steps) {
    if (text.empty())
      break;
    Status status;
    switch (static_cast<NormalizerKind>(step.kind)) {
    case NormalizerKind::Nfc:
    case NormalizerKind::Nfd:
    case NormalizerKind::Nfkc:
    case NormalizerKind::Nfkd:
      status = toUnicodeForm(text, static_cast<NormalizerKind>(step.kind));
      break;
    case NormalizerKind::Prepend:
      if (atStart || !step.onlyAtStart)
        text.insert(0, step.content);
      break;
    case NormalizerKind::ReplaceText:
      status = replaceSpans(text, findText(text, step.pattern), step.content);
      break;
    case NormalizerKind::ReplaceRegex: {
      std::vector<Span> matches;
      status = step.regex->findAll(text, matches);
      if (status.ok())
        status = replaceSpans(text, matches, step.content);
      break;
    }
    case NormalizerKind::Strip:
      if (step.right)
        text.resize(trimWhitespace(text));
      if (step.left)
        text.erase(0, skipWhitespace(text));
      break;
    }
    if (!status.ok())
      return status;
    if (text.size() > maxTextBytes)
      return textTooLong();
  }
  return Status::success();
}

} // namespace ingot::runtime
