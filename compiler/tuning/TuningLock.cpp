// SPDX-License-Identifier: Apache-2.0
// Words separated by spaces, a line per entry, comments from '#' on.
#include "compiler/tuning/TuningLock.h"

#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

namespace ingot::tuning {

using checkpoint::inQuotes;
using checkpoint::message;

namespace {

constexpr std::string_view kHeader = "ingot-tuning 1";
constexpr uint64_t kLongest = 4 << 20;
/// Words of a line, in their order.
enum Word : size_t { Op, N, K, Format, Target, Rows, Kernel, Digest, WordCount };
constexpr size_t kDigestDigits = 16;
/// Keeps every computation with sizes far from overflow.
constexpr int64_t kMost = int64_t{1} << 40;

/// What stands before a comment, in words.
std::vector<std::string_view> wordsOf(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  constexpr std::string_view blanks = " \t\r";
  for (size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<int64_t> numberOf(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= kMost ? std::optional(value) : std::nullopt;
}

/// Whether a name is made of characters that need no escaping anywhere.
bool isName(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+*.,:").find(c) != std::string_view::npos;
  });
}

bool isDigest(std::string_view word) {
  return word.size() == kDigestDigits && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// The entry of a line's words; else what is wrong.
Expected<TuningEntry> entryOf(const std::vector<std::string_view> &words, std::string where) {
  auto refuse = [&](std::string what) {
    return Error{"INGOT-E2202", std::move(what), where,
                 "write: op n k format target first-last kernel digest"};
  };
  if (words.size() != WordCount)
    return refuse(message("a line has ", words.size(), " words instead of ", size_t(WordCount)));
  TuningEntry entry;
  for (auto [word, field] : {std::pair(Op, &entry.op), std::pair(Format, &entry.format),
                             std::pair(Target, &entry.target), std::pair(Kernel, &entry.kernel)}) {
    if (!isName(words[word]))
      return refuse(message("the word ", inQuotes(words[word]), " has characters no name has"));
    *field = words[word];
  }
  size_t dash = words[Rows].find('-');
  auto n = numberOf(words[N]), k = numberOf(words[K]),
       first = numberOf(words[Rows].substr(0, dash)),
       last = numberOf(dash == std::string_view::npos ? "" : words[Rows].substr(dash + 1));
  if (!n || !k)
    return refuse("n and k are no positive numbers");
  if (!first || !last || *first > *last)
    return refuse(message("the rows ", inQuotes(words[Rows]), " are no range such as 1-16"));
  if (!isDigest(words[Digest]))
    return refuse(message("the digest ", inQuotes(words[Digest]), " has no ", kDigestDigits,
                          " hexadecimal digits"));
  entry.n = *n;
  entry.k = *k;
  entry.first = *first;
  entry.last = *last;
  entry.digest = words[Digest];
  return entry;
}

auto orderOf(const TuningEntry &entry) {
  return std::tie(entry.op, entry.n, entry.k, entry.format, entry.target, entry.first);
}

bool isSameProduct(const TuningEntry &a, const TuningEntry &b) {
  return std::tie(a.op, a.n, a.k, a.format, a.target) ==
         std::tie(b.op, b.n, b.k, b.format, b.target);
}

std::string textOf(const TuningEntry &entry) {
  return message(entry.product(), " ", entry.target, " ", entry.first, "-", entry.last, " ",
                 entry.kernel, " ", entry.digest);
}

} // namespace

std::string TuningEntry::product() const { return message(op, " ", n, " ", k, " ", format); }

Expected<TuningLock> TuningLock::parse(std::string_view text, std::string_view name) {
  TuningLock lock;
  bool started = false;
  size_t number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string where = message(name, ", line ", ++number);
    std::vector<std::string_view> words = wordsOf(line);
    if (words.empty())
      continue;
    if (!started) {
      if (words.size() != 2 || message(words[0], " ", words[1]) != kHeader)
        return Error{"INGOT-E2201", message("a tuning lockfile begins with ", inQuotes(kHeader)),
                     where, "give a file that `ingot-run tune` of this release wrote"};
      started = true;
      continue;
    }
    Expected<TuningEntry> entry = entryOf(words, where);
    if (!entry)
      return entry.error();
    for (const TuningEntry &other : lock.entries)
      if (isSameProduct(other, *entry) && other.first <= entry->last && entry->first <= other.last)
        return Error{"INGOT-E2203",
                     message(entry->product(), " has two kernels for ",
                             std::max(entry->first, other.first), " rows on ", entry->target),
                     where, "remove one of the two lines"};
    lock.entries.push_back(std::move(*entry));
  }
  if (!started)
    return Error{"INGOT-E2201", message("a tuning lockfile begins with ", inQuotes(kHeader)),
                 std::string(name), "give a file that `ingot-run tune` of this release wrote"};
  std::sort(lock.entries.begin(), lock.entries.end(),
            [](const TuningEntry &a, const TuningEntry &b) { return orderOf(a) < orderOf(b); });
  return lock;
}

Expected<TuningLock> TuningLock::read(const std::filesystem::path &path) {
  auto text = checkpoint::readText(path, kLongest);
  if (!text)
    return text.error();
  return parse(*text, path.string());
}

std::string TuningLock::str() const {
  std::string text = message(kHeader, "\n");
  for (const TuningEntry &entry : entries)
    text += textOf(entry) + "\n";
  return text;
}

} // namespace ingot::tuning
