// SPDX-License-Identifier: Apache-2.0
// Two models of tokenizers: gpt2 has merges, llama has scores that merges follow from.
#include "compiler/checkpoint/tokenizer/GgufTokenizerKeys.h"

#include "compiler/checkpoint/gguf/GgufConfig.h"
#include "compiler/checkpoint/tokenizer/GgufWords.h"
#include "compiler/checkpoint/tokenizer/SentencePieces.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"

#include <algorithm>
#include <set>

namespace ingot::checkpoint {

namespace {

Error cannotSay(std::string what, const std::string &where) {
  return {"INGOT-E2158", "GGUF files cannot say of a tokenizer " + std::move(what), where,
          "choose a recipe that is no mix of GGUF files"};
}

bool isByte(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
}

/// The settings of sentencepiece whose steps the tokenizer has; nothing: none.
std::optional<SentencePieceSettings> settingsOf(const TokenizerSpec &spec) {
  // Where spaces are gone already, to cut at them does nothing.
  auto cutsAtSpaces = [](const TokenizerPreTokenizerStep &step) {
    return step.kind == TokenizerPreTokenizerStep::Split && step.pattern == escapeRegex(" ");
  };
  if (!std::ranges::all_of(spec.preTokenizer, cutsAtSpaces) || !spec.byteFallback ||
      !spec.fuseUnk || spec.ignoreMerges || !spec.unigramScores.empty())
    return std::nullopt;
  for (bool prefix : {true, false})
    for (bool removes : {false, true}) {
      const SentencePieceSettings settings{prefix, removes};
      TokenizerSpec steps;
      addSentencePieceSteps(settings, steps);
      if (steps.normalizer == spec.normalizer && steps.decoder == spec.decoder)
        return settings;
    }
  return std::nullopt;
}

/// As files spell the tokens that are looked for before pieces are.
std::string withSpaces(std::string text) {
  constexpr std::string_view mark = "\u2581";
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos;)
    text.replace(at, mark.size(), " ");
  return text;
}

/// Text and type of each id; those without a piece are unused.
void addTokens(const TokenizerSpec &spec, uint64_t rows, bool isScored, nlohmann::json &keys) {
  std::vector<std::string> texts;
  std::vector<int> types;
  for (uint64_t id = 0; id < rows; ++id) {
    const bool isThere = id < spec.pieces.size() && !spec.pieces[id].text.empty();
    texts.push_back(isThere ? spec.pieces[id].text : message("[PAD", id, "]"));
    types.push_back(!isThere ? Unused : isScored && isByte(spec.pieces[id].text) ? Byte : Normal);
  }
  for (const TokenizerAddedToken &token : spec.addedTokens) {
    const bool isUnknown = isScored && static_cast<int32_t>(token.id) == spec.unkId;
    types[token.id] = !token.special ? UserDefined : isUnknown ? Unknown : Control;
    if (isScored && !token.special)
      texts[token.id] = withSpaces(token.content);
  }
  keys[tokenizerKey("tokens")] = std::move(texts);
  keys[tokenizerKey("token_type")] = std::move(types);
}

/// Those of the file, or the order in which merges make pieces; others come last.
std::vector<float> scoresOf(const TokenizerSpec &spec, uint64_t rows) {
  std::vector<float> scores = spec.scores;
  float next = 0;
  if (scores.empty()) {
    scores.resize(spec.pieces.size());
    for (const TokenizerMerge &merge : spec.merges)
      if (scores[merge.result] == 0)
        scores[merge.result] = --next;
    std::ranges::replace(scores, 0.0f, --next);
  }
  scores.resize(rows, next);
  return scores;
}

std::vector<std::string> mergesOf(const TokenizerSpec &spec) {
  std::vector<std::string> merges;
  for (const TokenizerMerge &merge : spec.merges)
    merges.push_back(message(spec.pieces[merge.left].text, " ", spec.pieces[merge.right].text));
  return merges;
}

/// Ids around a text: `id` or none.
Outcome addAffix(std::string_view key, const std::vector<uint32_t> &ids, int32_t id,
                 const std::string &where, nlohmann::json &keys) {
  if (!ids.empty() && (ids.size() > 1 || static_cast<int32_t>(ids.front()) != id))
    return cannotSay("which other tokens stand around a text", where);
  keys[tokenizerKey(key)] = !ids.empty();
  return {};
}

/// What stands before a text is the token that begins one, where no file names another.
Outcome addSpecialIds(const TokenizerSpec &spec, const std::string &where, nlohmann::json &keys) {
  const int32_t bos = spec.bosId < 0 && !spec.prefixIds.empty()
                          ? static_cast<int32_t>(spec.prefixIds.front())
                          : spec.bosId;
  for (const auto &[key, id] : {std::pair("bos_token_id", bos),
                                {"eos_token_id", spec.eosId},
                                {"unknown_token_id", spec.unkId},
                                {"padding_token_id", spec.padId}})
    if (id >= 0)
      keys[tokenizerKey(key)] = static_cast<uint32_t>(id);
  if (auto added = addAffix("add_bos_token", spec.prefixIds, bos, where, keys); !added)
    return added;
  return addAffix("add_eos_token", spec.suffixIds, spec.eosId, where, keys);
}

/// Names the tokens that end a text and that readers do not find by themselves.
Outcome addEnds(std::span<const uint64_t> ends, uint64_t rows, const std::string &where,
                nlohmann::json &keys) {
  for (std::string_view name : {"eos", "eot", "eom", ""}) {
    auto read = readGgufGeneration(Json::of(keys, where), rows);
    if (!read)
      return read.error();
    const auto missing = std::ranges::find_if(ends, [&](uint64_t id) {
      return std::ranges::find(*read->eosIds, id) == read->eosIds->end();
    });
    if (missing == ends.end())
      return {};
    if (name.empty())
      return cannotSay("that so many tokens end a text", where);
    const std::string key = tokenizerKey(message(name, "_token_id"));
    if (!keys.contains(key))
      keys[key] = *missing;
  }
  return {};
}

void addTemplates(const TokenizerSpec &spec, nlohmann::json &keys) {
  constexpr std::string_view key = "tokenizer.chat_template";
  std::vector<std::string> names;
  for (const TokenizerChatTemplate &chat : spec.chatTemplates)
    if (chat.name == "default") {
      keys[std::string(key)] = chat.text;
    } else {
      keys[message(key, ".", chat.name)] = chat.text;
      names.push_back(chat.name);
    }
  if (!names.empty())
    keys[message(key, "s")] = std::move(names);
}

using Triple = std::tuple<uint32_t, uint32_t, uint32_t>;

/// But for those into added tokens, which are cut out of a text before.
std::set<Triple> mergeSet(const TokenizerSpec &spec) {
  std::set<Triple> merges;
  for (const auto &[left, right, result] : spec.merges)
    if (!spec.pieces[left].added && !spec.pieces[right].added && !spec.pieces[result].added)
      merges.emplace(left, right, result);
  return merges;
}

/// Merges that one of the two has and the other has not.
size_t differentMerges(const TokenizerSpec &one, const TokenizerSpec &other) {
  std::vector<Triple> different;
  const std::set<Triple> theirs = mergeSet(one), ours = mergeSet(other);
  std::ranges::set_symmetric_difference(theirs, ours, std::back_inserter(different));
  return different.size();
}

/// What is not as it was; empty: nothing.
std::string differenceOf(const TokenizerSpec &spec, const TokenizerSpec &back) {
  for (size_t id = 0; id < spec.pieces.size(); ++id)
    if (!spec.pieces[id].text.empty() &&
        (id >= back.pieces.size() || back.pieces[id].text != spec.pieces[id].text ||
         back.pieces[id].added != spec.pieces[id].added))
      return message("what the piece ", inQuotes(spec.pieces[id].text), " is");
  for (const TokenizerAddedToken &token : spec.addedTokens)
    if (token.singleWord || token.leftStrip || token.rightStrip)
      return message("what stands around the token ", inQuotes(token.content));
  if (spec.prefixIds != back.prefixIds || spec.suffixIds != back.suffixIds)
    return "which tokens stand around a text";
  return "";
}

} // namespace

Expected<GgufTokenizerKeys> ggufTokenizerKeys(const TokenizerSpec &spec, uint64_t rows,
                                              std::span<const uint64_t> ends,
                                              const std::string &where) {
  if (spec.pieces.size() > rows)
    return cannotSay("that it has tokens beyond the model's embedding", where);
  GgufTokenizerKeys made;
  nlohmann::json &keys = made.keys;
  const WordRule *rule = wordRuleOf(spec);
  const auto settings = settingsOf(spec);
  if (rule && spec.mergeRanks.empty() && spec.unigramScores.empty()) {
    keys = {{tokenizerKey("model"), "gpt2"}, {tokenizerKey("pre"), rule->name}};
    keys[tokenizerKey("merges")] = mergesOf(spec);
  } else if (settings) {
    keys = {{tokenizerKey("model"), "llama"},
            {tokenizerKey("pre"), "default"},
            {tokenizerKey("add_space_prefix"), settings->addPrefix},
            {tokenizerKey("remove_extra_whitespaces"), settings->removeExtraSpaces}};
    keys[tokenizerKey("scores")] = scoresOf(spec, rows);
  } else {
    return cannotSay("how this one cuts a text into words", where);
  }
  addTokens(spec, rows, /*isScored=*/!rule, keys);
  addTemplates(spec, keys);
  Outcome done = addSpecialIds(spec, where, keys);
  if (done)
    done = addEnds(ends, rows, where, keys);
  if (!done)
    return done.error();
  const auto back = parseGgufTokenizer(Json::of(keys, where));
  if (!back)
    return back.error();
  if (const std::string difference = differenceOf(spec, *back); !difference.empty())
    return cannotSay(difference, where);
  if (const size_t count = differentMerges(spec, *back); count > 0 && rule)
    return cannotSay(message("that ", count, " merges are others"), where);
  else if (count > 0)
    made.deviation = message("GGUF files have other merges than the tokenizer, by ", count, " of ",
                             spec.merges.size(), ": a few texts become other tokens");
  return made;
}

} // namespace ingot::checkpoint
