// SPDX-License-Identifier: Apache-2.0
// The steps that rewrite a text before it is cut: Unicode forms, character maps, Lowercase,
// Prepend, Replace, Strip, ByteLevel.
#include "runtime/serving/Normalizer.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace ingot::runtime {

namespace {

using schema::NormalizerKind;

// Ordering marks is quadratic in how many follow each other. Unicode's stream-safe format
// allows 30.
constexpr size_t maxMarksInARow = 256;

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

/// Appends the Unicode form `kind` of `text`, which is valid UTF-8, to `out`.
Status appendUnicodeForm(std::string_view text, NormalizerKind kind, std::string &out) {
  if (Status status = checkMarks(text); !status.ok())
    return status;
  int options = UTF8PROC_STABLE;
  options |= kind == NormalizerKind::Nfc || kind == NormalizerKind::Nfkc ? UTF8PROC_COMPOSE
                                                                         : UTF8PROC_DECOMPOSE;
  if (kind == NormalizerKind::Nfkc || kind == NormalizerKind::Nfkd)
    options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t *form = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &form, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(form, &std::free);
  if (length < 0)
    return Status::error("INGOT-E6404",
                         std::string("Unicode normalization failed: ") + utf8proc_errmsg(length));
  out.append(reinterpret_cast<const char *>(form), static_cast<size_t>(length));
  return out.size() > maxTextBytes ? textTooLong() : Status::success();
}

bool isAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// ASCII stays as it is in every form and joins with nothing before it, so only the stretches of
/// other characters are rewritten, each with the ASCII character that its marks may join.
Status toUnicodeForm(std::string &text, NormalizerKind kind) {
  std::string out;
  size_t done = 0;
  for (auto at = std::find_if_not(text.begin(), text.end(), isAscii); at != text.end();) {
    const auto next = std::find_if(at, text.end(), isAscii);
    const size_t first = static_cast<size_t>(at - text.begin());
    const size_t begin = std::max(done, first == 0 ? 0 : first - 1);
    const size_t end = static_cast<size_t>(next - text.begin());
    out.append(text, done, begin - done);
    if (Status status =
            appendUnicodeForm(std::string_view(text).substr(begin, end - begin), kind, out);
        !status.ok())
      return status;
    done = end;
    at = std::find_if_not(next, text.end(), isAscii);
  }
  if (done == 0)
    return Status::success();
  out.append(text, done);
  text = std::move(out);
  return Status::success();
}

std::string toLowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const char32_t character = nextCharacter(text, offset);
    if (character == 0x130) { // the only one that becomes two
      out += "i\u0307";
      continue;
    }
    utf8proc_uint8_t bytes[4];
    const auto length =
        utf8proc_encode_char(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)), bytes);
    out.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(length));
  }
  return out;
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
              {},
              {}};
    const bool replaces =
        from->kind() == NormalizerKind::ReplaceText || from->kind() == NormalizerKind::ReplaceRegex;
    const bool maps =
        from->kind() == NormalizerKind::GraphemeMap || from->kind() == NormalizerKind::PrefixMap;
    if (maps && from->map())
      step.map = CharacterMap::parse(
          {reinterpret_cast<const char *>(from->map()->data()), from->map()->size()});
    if (from->kind() > NormalizerKind::MAX || (replaces && step.pattern.empty()) ||
        (maps && !step.map) || validUtf8Prefix(step.content) != step.content.size() ||
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
    case NormalizerKind::Lowercase:
      text = toLowercase(text);
      break;
    case NormalizerKind::ByteLevel: {
      std::string spelled;
      appendSpelled(text, spelled);
      text = std::move(spelled);
      break;
    }
    case NormalizerKind::GraphemeMap:
      text = step.map->mapGraphemes(text, maxTextBytes);
      break;
    case NormalizerKind::PrefixMap:
      text = step.map->mapPrefixes(text, maxTextBytes);
      break;
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
