// SPDX-License-Identifier: Apache-2.0
// Reads the processing steps of a tokenizer.json: normalizer, pre-tokenizer, decoder and
// post-processor. Each is lowered to the few primitive steps of TokenizerSpec.
#include "compiler/checkpoint/tokenizer/TokenizerSteps.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/Base64.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"

namespace ingot::checkpoint {

namespace {

constexpr size_t maxSteps = 64;
constexpr size_t maxText = 256;
constexpr size_t maxAffixIds = 64;

/// The rule by which byte-level BPE cuts words unless told otherwise.
constexpr std::string_view gpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// ASCII punctuation and symbols, and Unicode punctuation.
constexpr const char *punctuation = R"([!-/:-@\[-`{-~\p{P}])";

/// Characters of words where the tokenizers library uses Rust's regular expressions, as the inside
/// of a PCRE2 character class.
constexpr std::string_view wordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";

Error unsupported(const Json &step, const std::string &type) {
  return step.error("INGOT-E1409", message("the step ", inQuotes(type), " is not supported"),
                    "use a checkpoint whose tokenizer does without it");
}

/// INGOT-E1411: a setting of a step has no valid value.
Error badSetting(const Json &step, std::string_view what) {
  return step.error("INGOT-E1411", std::string(what), "correct the setting");
}

/// A string member of at most maxText bytes; `fallback` when absent.
Expected<std::string> textOf(const Json &step, std::string_view key, std::string fallback) {
  JsonFields fields(step);
  std::string text = fields.stringOr(key, std::move(fallback));
  if (fields.error())
    return *fields.error();
  if (text.size() > maxText || !isUtf8(text))
    return badSetting(step, message(key, " is longer than ", maxText, " bytes or not UTF-8"));
  return text;
}

Expected<bool> flagOf(const Json &step, std::string_view key, bool fallback) {
  JsonFields fields(step);
  const bool flag = fields.booleanOr(key, fallback);
  if (fields.error())
    return *fields.error();
  return flag;
}

bool isOneCharacter(const std::string &text) {
  size_t characters = 0;
  for (char c : text)
    characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return characters == 1;
}

/// Calls `read` for every step of a Sequence, or for `step` itself.
template <class Read>
Outcome eachStep(const Json &step, std::string_view listKey, const Read &read) {
  Expected<Json> typeValue = step.at("type");
  if (!typeValue)
    return typeValue.error();
  Expected<std::string> type = typeValue->string();
  if (!type)
    return type.error();
  if (*type != "Sequence")
    return read(step, *type);
  Expected<Json> list = step.at(listKey);
  if (!list)
    return list.error();
  if (!list->isArray())
    return list->wrongType("a list");
  for (size_t i = 0; i < list->size(); ++i)
    if (Outcome done = eachStep(list->element(i), listKey, read); !done)
      return done;
  return {};
}

struct Pattern {
  std::string text;
  bool regex;
};

/// {"String": text} or {"Regex": text}, the latter translated.
Expected<Pattern> patternOf(const Json &step) {
  Expected<Json> pattern = step.at("pattern");
  if (!pattern)
    return pattern.error();
  const bool isRegex = pattern->find("Regex").has_value();
  Expected<Json> value = isRegex ? pattern->at("Regex") : pattern->at("String");
  if (!value)
    return value.error();
  Expected<std::string> text = value->string();
  if (!text)
    return text.error();
  if (!isRegex) {
    if (text->empty() || text->size() > maxText || !isUtf8(*text))
      return badSetting(
          step, message("the pattern is empty, longer than ", maxText, " bytes or not UTF-8"));
    return Pattern{*std::move(text), false};
  }
  Expected<std::string> translated = translateRegex(*text, value->where());
  if (!translated)
    return translated.error();
  return Pattern{*std::move(translated), true};
}

/// The normalizers of the tokenizers library without settings, or nothing.
std::vector<TokenizerNormalizerStep> plainNormalizer(const std::string &type) {
  using Step = TokenizerNormalizerStep;
  constexpr std::pair<std::string_view, Step::Kind> kinds[] = {{"NFC", Step::Nfc},
                                                               {"NFD", Step::Nfd},
                                                               {"NFKC", Step::Nfkc},
                                                               {"NFKD", Step::Nfkd},
                                                               {"Lowercase", Step::Lowercase},
                                                               {"ByteLevel", Step::ByteLevel}};
  for (const auto &[known, kind] : kinds)
    if (type == known)
      return {{.kind = kind}};
  if (type == "StripAccents")
    return {{.kind = Step::ReplaceRegex, .pattern = R"(\p{M})"}};
  if (type == "Nmt") // control characters go; what Unicode or other programs take for space is one
    return {{.kind = Step::ReplaceRegex,
             .pattern = R"([\x{1}-\x{8}\x{b}\x{e}-\x{1f}\x{7f}\x{8f}\x{9f}])"},
            {.kind = Step::ReplaceRegex,
             .pattern = R"([\t\n\f\r\x{1680}\x{200b}-\x{200f}\x{2028}\x{2029}\x{2581})"
                        R"(\x{feff}\x{fffd}])",
             .content = " "}};
  return {};
}

Expected<TokenizerNormalizerStep> precompiledOf(const Json &step) {
  Expected<Json> encoded = step.at("precompiled_charsmap");
  if (!encoded)
    return encoded.error();
  Expected<std::string> text = encoded->string();
  if (!text)
    return text.error();
  std::optional<std::string> map = decodeBase64(*text);
  if (!map || !isCharacterMap(*map))
    return badSetting(step, "precompiled_charsmap is not a character map in base64");
  return TokenizerNormalizerStep{.kind = TokenizerNormalizerStep::GraphemeMap,
                                 .map = *std::move(map)};
}

Outcome readNormalizerStep(const Json &step, const std::string &type, TokenizerSpec &spec) {
  using Step = TokenizerNormalizerStep;
  auto add = [&](Step made) -> Outcome {
    spec.normalizer.push_back(std::move(made));
    if (spec.normalizer.size() > maxSteps)
      return badSetting(step, "more than 64 steps");
    return {};
  };
  if (std::vector<Step> plain = plainNormalizer(type); !plain.empty()) {
    spec.normalizer.insert(spec.normalizer.end(), plain.begin(), plain.end() - 1);
    return add(std::move(plain.back()));
  }
  if (type == "Precompiled") {
    Expected<Step> made = precompiledOf(step);
    if (!made)
      return made.error();
    return add(*std::move(made));
  }
  if (type == "Prepend") {
    Expected<std::string> text = textOf(step, "prepend", "");
    if (!text)
      return text.error();
    return add({.kind = Step::Prepend, .content = *text});
  }
  if (type == "Strip") {
    Expected<bool> left = flagOf(step, "strip_left", true);
    Expected<bool> right = flagOf(step, "strip_right", true);
    if (!left || !right)
      return left ? right.error() : left.error();
    return add({.kind = Step::Strip, .left = *left, .right = *right});
  }
  if (type == "Replace") {
    Expected<Pattern> pattern = patternOf(step);
    if (!pattern)
      return pattern.error();
    Expected<std::string> content = textOf(step, "content", "");
    if (!content)
      return content.error();
    return add({.kind = pattern->regex ? Step::ReplaceRegex : Step::ReplaceText,
                .pattern = pattern->text,
                .content = *content});
  }
  return unsupported(step, type);
}

Expected<TokenizerSplitBehavior> behaviorOf(const Json &step, std::string fallback) {
  Expected<std::string> name = textOf(step, "behavior", std::move(fallback));
  if (!name)
    return name.error();
  using Behavior = TokenizerSplitBehavior;
  constexpr std::pair<std::string_view, Behavior> behaviors[] = {
      {"Removed", Behavior::Removed},
      {"Isolated", Behavior::Isolated},
      {"MergedWithPrevious", Behavior::MergedWithPrevious},
      {"MergedWithNext", Behavior::MergedWithNext},
      {"Contiguous", Behavior::Contiguous}};
  for (const auto &[known, behavior] : behaviors)
    if (*name == known)
      return behavior;
  return badSetting(step, message("unknown behavior ", inQuotes(*name)));
}

struct Metaspace {
  std::string replacement;
  TokenizerPrepend prepend;
};

/// The settings a Metaspace pre-tokenizer and decoder share; add_prefix_space is the older
/// spelling.
Expected<Metaspace> metaspaceOf(const Json &step) {
  Expected<std::string> replacement = textOf(step, "replacement", "\u2581");
  Expected<bool> prefix = flagOf(step, "add_prefix_space", true);
  Expected<std::string> scheme = textOf(step, "prepend_scheme", "");
  if (!replacement || !prefix || !scheme)
    return !replacement ? replacement.error() : !prefix ? prefix.error() : scheme.error();
  if (!isOneCharacter(*replacement))
    return badSetting(step, "replacement is not one character");
  if (scheme->empty())
    return Metaspace{*replacement, *prefix ? TokenizerPrepend::Always : TokenizerPrepend::Never};
  constexpr std::pair<std::string_view, TokenizerPrepend> schemes[] = {
      {"first", TokenizerPrepend::First},
      {"always", TokenizerPrepend::Always},
      {"never", TokenizerPrepend::Never}};
  for (const auto &[known, prepend] : schemes)
    if (*scheme == known)
      return Metaspace{*replacement, prepend};
  return badSetting(step, message("unknown prepend_scheme ", inQuotes(*scheme)));
}

Outcome readByteLevel(const Json &step, TokenizerSpec &spec) {
  using Step = TokenizerPreTokenizerStep;
  Expected<bool> prefix = flagOf(step, "add_prefix_space", true);
  Expected<bool> useRegex = flagOf(step, "use_regex", true);
  if (!prefix || !useRegex)
    return prefix ? useRegex.error() : prefix.error();
  if (*prefix)
    spec.preTokenizer.push_back({.kind = Step::PrefixSpace});
  if (*useRegex) {
    Expected<std::string> regex = translateRegex(gpt2Regex, step.where());
    if (!regex)
      return regex.error();
    spec.preTokenizer.push_back({.kind = Step::Split, .pattern = *std::move(regex)});
  }
  spec.preTokenizer.push_back({.kind = Step::ByteLevel});
  return {};
}

Outcome readSplit(const Json &step, TokenizerSpec &spec) {
  Expected<Pattern> pattern = patternOf(step);
  if (!pattern)
    return pattern.error();
  Expected<TokenizerSplitBehavior> behavior = behaviorOf(step, "Isolated");
  if (!behavior)
    return behavior.error();
  Expected<bool> invert = flagOf(step, "invert", false);
  if (!invert)
    return invert.error();
  spec.preTokenizer.push_back(
      {.kind = TokenizerPreTokenizerStep::Split,
       .pattern = pattern->regex ? pattern->text : escapeRegex(pattern->text),
       .behavior = *behavior,
       .invert = *invert});
  return {};
}

Outcome readMetaspace(const Json &step, TokenizerSpec &spec) {
  using Step = TokenizerPreTokenizerStep;
  Expected<Metaspace> metaspace = metaspaceOf(step);
  if (!metaspace)
    return metaspace.error();
  Expected<bool> split = flagOf(step, "split", true);
  if (!split)
    return split.error();
  spec.preTokenizer.push_back({.kind = Step::Metaspace,
                               .replacement = metaspace->replacement,
                               .prepend = metaspace->prepend});
  if (*split)
    spec.preTokenizer.push_back({.kind = Step::Split,
                                 .pattern = escapeRegex(metaspace->replacement),
                                 .behavior = TokenizerSplitBehavior::MergedWithNext});
  return {};
}

Outcome readPreTokenizerStep(const Json &step, const std::string &type, TokenizerSpec &spec) {
  using Behavior = TokenizerSplitBehavior;
  if (spec.preTokenizer.size() + 3 > maxSteps)
    return badSetting(step, "more than 64 steps");
  auto split = [&](std::string pattern, Behavior behavior, bool invert = false) -> Outcome {
    spec.preTokenizer.push_back({.kind = TokenizerPreTokenizerStep::Split,
                                 .pattern = std::move(pattern),
                                 .behavior = behavior,
                                 .invert = invert});
    return {};
  };
  if (type == "ByteLevel")
    return readByteLevel(step, spec);
  if (type == "Split")
    return readSplit(step, spec);
  if (type == "Metaspace")
    return readMetaspace(step, spec);
  if (type == "Digits") {
    Expected<bool> individual = flagOf(step, "individual_digits", false);
    if (!individual)
      return individual.error();
    return split(R"(\p{N})", *individual ? Behavior::Isolated : Behavior::Contiguous);
  }
  if (type == "BertPreTokenizer") {
    spec.preTokenizer.push_back({.kind = TokenizerPreTokenizerStep::Split,
                                 .pattern = message("[", whitespaceClass, "]"),
                                 .behavior = Behavior::Removed});
    return split(punctuation, Behavior::Isolated);
  }
  if (type == "WhitespaceSplit")
    return split(message("[", whitespaceClass, "]"), Behavior::Removed);
  if (type == "Whitespace") {
    return split(message("[", wordClass, "]+|[^", wordClass, whitespaceClass, "]+"),
                 Behavior::Removed, /*invert=*/true);
  }
  if (type == "Punctuation") {
    Expected<Behavior> behavior = behaviorOf(step, "Isolated");
    if (!behavior)
      return behavior.error();
    return split(punctuation, *behavior);
  }
  if (type == "CharDelimiterSplit") {
    Expected<std::string> delimiter = textOf(step, "delimiter", "");
    if (!delimiter)
      return delimiter.error();
    if (!isOneCharacter(*delimiter))
      return badSetting(step, "delimiter is not one character");
    return split(escapeRegex(*delimiter), Behavior::Removed);
  }
  return unsupported(step, type);
}

Outcome readDecoderStep(const Json &step, const std::string &type, bool &fused,
                        TokenizerSpec &spec) {
  using Step = TokenizerDecoderStep;
  auto add = [&](Step made) -> Outcome {
    const bool whole = made.kind == Step::ByteLevel || made.kind == Step::ByteFallback ||
                       made.kind == Step::Metaspace;
    if (fused && whole)
      return badSetting(step, message(inQuotes(type), " comes after the pieces are joined"));
    if (spec.decoder.size() == maxSteps)
      return badSetting(step, "more than 64 steps");
    fused |= made.kind == Step::Fuse || made.kind == Step::ByteLevel;
    spec.decoder.push_back(std::move(made));
    return {};
  };
  if (type == "ByteLevel")
    return add({.kind = Step::ByteLevel});
  if (type == "ByteFallback")
    return add({.kind = Step::ByteFallback});
  if (type == "Fuse")
    return add({.kind = Step::Fuse});
  if (type == "Strip") {
    JsonFields fields(step);
    const std::string content = fields.stringOr("content", "");
    const uint64_t start = fields.unsignedIntegerOr("start", 0, 0, maxText);
    const uint64_t stop = fields.unsignedIntegerOr("stop", 0, 0, maxText);
    if (fields.error())
      return *fields.error();
    if (!isUtf8(content) || !isOneCharacter(content))
      return badSetting(step, "content is not one character");
    return add({.kind = Step::Strip,
                .pattern = content,
                .start = static_cast<uint32_t>(start),
                .stop = static_cast<uint32_t>(stop)});
  }
  if (type == "Replace") {
    Expected<Pattern> pattern = patternOf(step);
    if (!pattern)
      return pattern.error();
    if (pattern->regex)
      return unsupported(step, "Replace with a regular expression");
    Expected<std::string> content = textOf(step, "content", "");
    if (!content)
      return content.error();
    return add({.kind = Step::Replace, .pattern = pattern->text, .content = *content});
  }
  if (type == "Metaspace") {
    Expected<Metaspace> metaspace = metaspaceOf(step);
    if (!metaspace)
      return metaspace.error();
    return add({.kind = Step::Metaspace,
                .pattern = metaspace->replacement,
                .prepend = metaspace->prepend});
  }
  return unsupported(step, type);
}

/// The ids that the template's special token `name` stands for.
Outcome readTemplateToken(const Json &processor, const std::string &name,
                          const TokenizerVocabulary &vocabulary, std::vector<uint32_t> &out) {
  const std::optional<Json> tokens = processor.find("special_tokens");
  const std::optional<Json> token = tokens ? tokens->find(name) : std::nullopt;
  const std::optional<Json> ids = token ? token->find("ids") : std::nullopt;
  if (!ids || !ids->isArray())
    return badSetting(processor, message("no ids for ", inQuotes(name)));
  for (size_t i = 0; i < ids->size(); ++i) {
    Expected<uint64_t> id = ids->element(i).unsignedInteger(0, maxTokenId - 1);
    if (!id)
      return id.error();
    if (!vocabulary.has(static_cast<uint32_t>(*id)) || out.size() == maxAffixIds)
      return badSetting(processor, message("no token has the id ", *id, ", or too many ids"));
    out.push_back(static_cast<uint32_t>(*id));
  }
  return {};
}

Outcome readTemplate(const Json &processor, const TokenizerVocabulary &vocabulary,
                     std::vector<uint32_t> &prefix, std::vector<uint32_t> &suffix) {
  Expected<Json> single = processor.at("single");
  if (!single)
    return single.error();
  if (!single->isArray())
    return single->wrongType("a list");
  size_t texts = 0;
  for (size_t i = 0; i < single->size(); ++i) {
    const Json part = single->element(i);
    if (part.find("Sequence")) {
      ++texts;
      continue;
    }
    Expected<Json> special = part.at("SpecialToken");
    if (!special)
      return special.error();
    Expected<Json> name = special->at("id");
    if (!name)
      return name.error();
    Expected<std::string> text = name->string();
    if (!text)
      return text.error();
    if (Outcome done =
            readTemplateToken(processor, *text, vocabulary, texts == 0 ? prefix : suffix);
        !done)
      return done;
  }
  if (texts != 1)
    return badSetting(*single, message("the text comes ", texts, " times, not once"));
  return {};
}

/// RobertaProcessing and BertProcessing: `cls` before the text and `sep` after it, as [text, id].
Outcome readClassifier(const Json &processor, std::string_view key,
                       const TokenizerVocabulary &vocabulary, std::vector<uint32_t> &out) {
  Expected<Json> pair = processor.at(key);
  if (!pair)
    return pair.error();
  if (!pair->isArray() || pair->size() != 2)
    return pair->wrongType("a list of a token and its id");
  Expected<uint64_t> id = pair->element(1).unsignedInteger(0, maxTokenId - 1);
  if (!id)
    return id.error();
  if (!vocabulary.has(static_cast<uint32_t>(*id)))
    return badSetting(processor, message("no token has the id ", *id));
  out.push_back(static_cast<uint32_t>(*id));
  return {};
}

} // namespace

Outcome readNormalizer(const Json &normalizer, TokenizerSpec &spec) {
  return eachStep(normalizer, "normalizers", [&](const Json &step, const std::string &type) {
    return readNormalizerStep(step, type, spec);
  });
}

Outcome readPreTokenizer(const Json &preTokenizer, TokenizerSpec &spec) {
  return eachStep(preTokenizer, "pretokenizers", [&](const Json &step, const std::string &type) {
    return readPreTokenizerStep(step, type, spec);
  });
}

Outcome readDecoder(const Json &decoder, TokenizerSpec &spec) {
  bool fused = false;
  return eachStep(decoder, "decoders", [&](const Json &step, const std::string &type) {
    return readDecoderStep(step, type, fused, spec);
  });
}

Outcome readPostProcessor(const Json &postProcessor, const TokenizerVocabulary &vocabulary,
                          TokenizerSpec &spec) {
  auto read = [&](const Json &step, const std::string &type) -> Outcome {
    std::vector<uint32_t> prefix, suffix;
    Outcome done;
    if (type == "TemplateProcessing")
      done = readTemplate(step, vocabulary, prefix, suffix);
    else if (type == "RobertaProcessing" || type == "BertProcessing") {
      done = readClassifier(step, "cls", vocabulary, prefix);
      if (done)
        done = readClassifier(step, "sep", vocabulary, suffix);
    } else if (type != "ByteLevel") // it moves offsets, never ids
      done = unsupported(step, type);
    // A later step works on what the earlier ones made.
    spec.prefixIds.insert(spec.prefixIds.begin(), prefix.begin(), prefix.end());
    spec.suffixIds.insert(spec.suffixIds.end(), suffix.begin(), suffix.end());
    if (spec.prefixIds.size() > maxAffixIds || spec.suffixIds.size() > maxAffixIds)
      return badSetting(step, message("more than ", maxAffixIds, " ids around a text"));
    return done;
  };
  return eachStep(postProcessor, "processors", read);
}

} // namespace ingot::checkpoint
