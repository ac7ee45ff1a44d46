// SPDX-License-Identifier: Apache-2.0
// Draws in a fixed order, so that equal options make equal requests.
#include "runtime/tools/load/Workload.h"

#include <algorithm>
#include <charconv>

namespace ingot::runtime {
namespace {

constexpr int64_t mostTokens = int64_t(1) << 24;

// Short English words, most of which are one token with a space before them in any vocabulary.
constexpr std::string_view wordList[] = {
    "time",    "year",     "people", "way",    "day",     "man",    "thing",    "woman",
    "life",    "child",    "world",  "school", "state",   "family", "student",  "group",
    "country", "hand",     "part",   "place",  "case",    "week",   "company",  "system",
    "program", "question", "work",   "number", "night",   "point",  "home",     "water",
    "room",    "mother",   "area",   "money",  "story",   "fact",   "month",    "lot",
    "right",   "study",    "book",   "eye",    "job",     "word",   "business", "issue",
    "side",    "kind",     "head",   "house",  "service", "friend", "father",   "power",
    "hour",    "game",     "line",   "end",    "member",  "law",    "car",      "city"};

/// A whole number of 1 to mostTokens; 0 for other words.
int64_t countOf(std::string_view word) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && value > 0 && value <= mostTokens ? value : 0;
}

/// The seed of something numbered, far from those of its neighbours.
uint64_t seedOf(uint64_t seed, uint64_t kind, uint64_t number) {
  return RandomStream(RandomStream(seed ^ (kind << 56)).next() + number).next();
}

enum SeedKind : uint64_t { OfPrompts = 1, OfPrefixes = 2 };

} // namespace

std::optional<LengthRange> LengthRange::parse(std::string_view word) {
  size_t dots = word.find("..");
  LengthRange range;
  range.least = countOf(word.substr(0, dots));
  range.most = dots == word.npos ? range.least : countOf(word.substr(dots + 2));
  if (range.least == 0 || range.most < range.least)
    return std::nullopt;
  return range;
}

std::optional<SharedPrefix> SharedPrefix::parse(std::string_view word) {
  size_t colon = word.find(':');
  SharedPrefix prefix;
  prefix.tokens = countOf(word.substr(0, colon));
  prefix.groups = colon == word.npos ? 1 : countOf(word.substr(colon + 1));
  if (prefix.tokens == 0 || prefix.groups == 0)
    return std::nullopt;
  return prefix;
}

Result<Workload> Workload::create(const WorkloadOptions &options) {
  Workload workload(options);
  if (Status status = workload.takeFiles(); !status.ok())
    return status;
  if (Status status = workload.checkContext(); !status.ok())
    return status;
  return workload;
}

Status Workload::takeFiles() {
  if (!options.trace.empty()) {
    Result<std::vector<TraceRow>> read = readTrace(options.trace);
    if (!read.ok())
      return std::move(read).status();
    rows = std::move(*read);
  }
  if (options.shareGpt.empty())
    return {};
  Result<std::vector<ShareGptConversation>> read = readShareGpt(options.shareGpt);
  if (!read.ok())
    return std::move(read).status();
  conversations = std::move(*read);
  // Text is not cut: a question without its end is another question.
  if (options.maxContext)
    std::erase_if(conversations, [&](const ShareGptConversation &entry) {
      int64_t bytes = int64_t(entry.prompt.size()) + entry.replyBytes;
      return bytes / bytesPerToken + 2 + options.prefix.tokens > options.maxContext;
    });
  for (size_t i = conversations.size(); i > 1; --i)
    std::swap(conversations[i - 1], conversations[size_t(random.between(0, int64_t(i) - 1))]);
  return {};
}

Status Workload::checkContext() const {
  bool none = !options.shareGpt.empty() && conversations.empty();
  // A prompt and an answer of one token each.
  if (!none && (options.maxContext == 0 || options.prefix.tokens + 2 <= options.maxContext))
    return {};
  return Status::error(
      "INGOT-E7244",
      "no request fits a context of " + std::to_string(options.maxContext) + " tokens" +
          (options.prefix.tokens
               ? " behind a shared prefix of " + std::to_string(options.prefix.tokens)
               : std::string()),
      "raise --max-context or give a shorter --shared-prefix");
}

Workload::Lengths Workload::lengths() {
  if (!rows.empty()) {
    const TraceRow &row = rows[size_t(made)];
    auto scaled = [&](int64_t tokens) {
      double length = std::round(double(tokens) * options.lengthScale);
      return int64_t(std::clamp(length, 1.0, double(mostTokens)));
    };
    return {scaled(row.promptTokens), scaled(row.outputTokens)};
  }
  int64_t prompt = random.between(options.prompt.least, options.prompt.most);
  return {prompt, random.between(options.output.least, options.output.most)};
}

/// What is too long loses output down to one token last: the prompt is what a cache is about.
void Workload::clip(Lengths &lengths, int64_t prefix) const {
  if (options.maxContext == 0)
    return;
  int64_t room = options.maxContext - prefix;
  lengths.output = std::min(lengths.output, room - 1);
  lengths.prompt = std::min(lengths.prompt, room - lengths.output);
}

void Workload::takeTime(LoadRequest &request) {
  if (!options.rate) {
    request.due = rows.empty() ? 0 : rows[size_t(made)].seconds * options.timeScale;
  } else if (*options.rate < std::numeric_limits<double>::infinity()) {
    if (made > 0)
      clock += random.exponential(1 / *options.rate);
    request.due = clock;
  }
}

/// Ids of the vocabulary's middle: special tokens lie at its ends.
void Workload::addTokens(RandomStream &stream, int64_t count, std::vector<int32_t> &tokens) const {
  int64_t least = options.vocabulary / 8;
  int64_t most = std::max(least, options.vocabulary - options.vocabulary / 4 - 1);
  tokens.reserve(tokens.size() + size_t(count));
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(stream.between(least, most)));
}

void Workload::addWords(RandomStream &stream, int64_t count, std::string &text) const {
  for (int64_t i = 0; i < count; ++i) {
    if (!text.empty())
      text += ' ';
    text += wordList[stream.next() % std::size(wordList)];
  }
}

std::optional<LoadRequest> Workload::next() {
  bool over = (options.requests && made == options.requests) ||
              (!rows.empty() && size_t(made) == rows.size());
  if (over)
    return std::nullopt;
  // Each draw happens whether it counts or not: one option changes one thing.
  LoadRequest request;
  request.number = made;
  takeTime(request);
  Lengths wanted = lengths();
  bool prefixed = random.uniform() < options.prefixShare && options.prefix.tokens > 0;
  uint64_t group = random.next() % uint64_t(options.prefix.groups);
  double cancel = random.uniform(), cancelAt = random.uniform();
  int64_t prefix = prefixed ? options.prefix.tokens : 0;
  RandomStream shared(seedOf(options.seed, OfPrefixes, group));
  RandomStream own(seedOf(options.seed, OfPrompts, uint64_t(made)));
  if (!conversations.empty()) {
    const ShareGptConversation &source = conversations[size_t(made) % conversations.size()];
    addWords(shared, prefix, request.text);
    request.text += (prefix ? "\n\n" : "") + source.prompt;
    wanted.output = source.replyBytes / bytesPerToken + 1;
  } else {
    clip(wanted, prefix);
    if (options.words) {
      addWords(shared, prefix, request.text);
      addWords(own, wanted.prompt, request.text);
    } else {
      addTokens(shared, prefix, request.tokens);
      addTokens(own, wanted.prompt, request.tokens);
    }
  }
  request.outputTokens = wanted.output;
  if (cancel < options.cancelShare)
    request.cancelAfter = int64_t(cancelAt * double(wanted.output));
  ++made;
  return request;
}

} // namespace ingot::runtime
