// SPDX-License-Identifier: Apache-2.0
// The steps that cut a normalized text into the pieces ("words") BPE never merges across.
#include "runtime/serving/PreTokenizer.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Normalizer.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using schema::PrependScheme;
using schema::PreTokenizerKind;
using schema::SplitBehavior;

struct Part {
  Span span;
  bool matched;
};

/// Applies `behavior` to the alternating parts of one word and appends what stays to `out`.
void applyBehavior(std::vector<Part> &parts, SplitBehavior behavior, std::vector<Span> &out) {
  const size_t first = out.size();
  const bool backwards = behavior == SplitBehavior::MergedWithNext;
  if (backwards)
    std::reverse(parts.begin(), parts.end());
  bool previousMatched = false;
  for (const Part &part : parts) {
    bool join = false;
    switch (behavior) {
    case SplitBehavior::Removed:
      if (part.matched)
        continue;
      break;
    case SplitBehavior::Isolated:
      break;
    case SplitBehavior::MergedWithPrevious:
    case SplitBehavior::MergedWithNext:
      join = part.matched && !previousMatched;
      break;
    case SplitBehavior::Contiguous:
      join = part.matched == previousMatched;
      break;
    }
    previousMatched = part.matched;
    if (!join || out.size() == first)
      out.push_back(part.span);
    else if (backwards)
      out.back().begin = part.span.begin;
    else
      out.back().end = part.span.end;
  }
  if (backwards)
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

void appendMetaspace(std::string_view word, std::string_view replacement, bool prepend,
                     std::string &out) {
  if (prepend && !word.starts_with(replacement) && !word.starts_with(' '))
    out += replacement;
  for (char c : word) {
    if (c == ' ')
      out += replacement;
    else
      out += c;
  }
}

bool isOneCharacter(std::string_view text) {
  if (text.empty() || validUtf8Prefix(text) != text.size())
    return false;
  return utf8Length(static_cast<unsigned char>(text[0])) == text.size();
}

} // namespace

Result<PreTokenizer> PreTokenizer::create(const schema::Tokenizer &description) {
  PreTokenizer preTokenizer;
  if (!description.pre_tokenizer())
    return preTokenizer;
  for (const schema::PreTokenizerStep *from : *description.pre_tokenizer()) {
    Step step{static_cast<uint8_t>(from->kind()),
              static_cast<uint8_t>(from->behavior()),
              static_cast<uint8_t>(from->prepend()),
              from->invert(),
              from->replacement() ? from->replacement()->str() : "",
              {}};
    const PreTokenizerKind kind = from->kind();
    if (kind > PreTokenizerKind::MAX || from->behavior() > SplitBehavior::MAX ||
        from->prepend() > PrependScheme::MAX ||
        (kind == PreTokenizerKind::Split && !from->pattern()) ||
        (kind == PreTokenizerKind::Metaspace && !isOneCharacter(step.replacement)))
      return Status::error("INGOT-E5403",
                           "pre-tokenizer step " + std::to_string(preTokenizer.steps.size()) +
                               " of the tokenizer is malformed",
                           "build the engine again");
    if (kind == PreTokenizerKind::Split) {
      Result<Regex> regex = Regex::compile(from->pattern()->string_view());
      if (!regex.ok())
        return regex.status();
      step.regex = *std::move(regex);
    }
    preTokenizer.steps.push_back(std::move(step));
  }
  return preTokenizer;
}

Status PreTokenizer::splitWords(const Step &step, Words &words) {
  std::vector<Span> out;
  std::vector<Span> matches;
  std::vector<Part> parts;
  for (const Span &word : words.spans) {
    const std::string_view text =
        std::string_view(words.text).substr(word.begin, word.end - word.begin);
    matches.clear();
    parts.clear();
    if (Status status = step.regex->findAll(text, matches); !status.ok())
      return status;
    uint32_t end = word.begin;
    for (const Span &match : matches) {
      const Span found{word.begin + match.begin, word.begin + match.end};
      if (end < found.begin)
        parts.push_back({{end, found.begin}, step.invert});
      parts.push_back({found, !step.invert});
      end = found.end;
    }
    if (end < word.end)
      parts.push_back({{end, word.end}, step.invert});
    applyBehavior(parts, static_cast<SplitBehavior>(step.behavior), out);
  }
  words.spans = std::move(out);
  return Status::success();
}

Status PreTokenizer::rewriteWords(const Step &step, bool atStart, Words &words) {
  std::string out;
  out.reserve(words.text.size() + words.text.size() / 4);
  const auto prepend = static_cast<PrependScheme>(step.prepend);
  bool first = atStart;
  for (Span &word : words.spans) {
    const std::string_view text =
        std::string_view(words.text).substr(word.begin, word.end - word.begin);
    word.begin = static_cast<uint32_t>(out.size());
    switch (static_cast<PreTokenizerKind>(step.kind)) {
    case PreTokenizerKind::PrefixSpace:
      if (!text.starts_with(' '))
        out += ' ';
      out += text;
      break;
    case PreTokenizerKind::ByteLevel:
      appendSpelled(text, out);
      break;
    case PreTokenizerKind::Metaspace:
      appendMetaspace(
          text, step.replacement,
          prepend == PrependScheme::Always || (prepend == PrependScheme::First && first), out);
      break;
    case PreTokenizerKind::Split:
      break;
    }
    word.end = static_cast<uint32_t>(out.size());
    first = false;
    if (out.size() > maxTextBytes)
      return textTooLong();
  }
  words.text = std::move(out);
  return Status::success();
}

bool PreTokenizer::endsWithByteLevel() const {
  return !steps.empty() &&
         static_cast<PreTokenizerKind>(steps.back().kind) == PreTokenizerKind::ByteLevel;
}

Result<Words> PreTokenizer::split(std::string text, bool atStart) const {
  Words words;
  words.text = std::move(text);
  if (!words.text.empty())
    words.spans.push_back({0, static_cast<uint32_t>(words.text.size())});
  for (const Step &step : steps) {
    const bool splits = static_cast<PreTokenizerKind>(step.kind) == PreTokenizerKind::Split;
    Status status = splits ? splitWords(step, words) : rewriteWords(step, atStart, words);
    if (!status.ok())
      return status;
  }
  return words;
}

} // namespace ingot::runtime
