// SPDX-License-Identifier: Apache-2.0
// Mutator: makes damaged and hostile variants of good input, for binary and text formats alike. The
// same seed gives the same variants on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::fuzz {

class Mutator {
public:
  explicit Mutator(uint64_t seed) : random(seed) {}

  /// Words that mean something in the format under test; put into texts now and then.
  void setWords(std::vector<std::string> newWords) { words = std::move(newWords); }

  /// No variant is longer than this; the default suits text formats.
  void setLongest(size_t bytes) { longest = bytes; }

  /// A number from 0 to `bound` - 1; `bound` > 0. (The standard distributions differ between
  /// libraries; the generator does not.)
  uint64_t below(uint64_t bound) { return random() % bound; }

  /// One of `items`, which is not empty.
  template <class T> const T &oneOf(const std::vector<T> &items) {
    return items[below(items.size())];
  }

  /// A variant of one of `corpus` with one to four mutations, mostly one: that keeps enough of the
  /// input good for the deeper checks to be reached.
  std::string mutate(const std::vector<std::string> &corpus) {
    std::string bytes = oneOf(corpus);
    for (uint64_t left = below(3) ? 1 : 2 + below(3); left > 0; --left)
      mutateOnce(bytes, corpus);
    if (bytes.size() > longest)
      bytes.resize(longest);
    return bytes;
  }

private:
  size_t position(const std::string &bytes) { return below(bytes.size() + 1); }

  /// A short stretch of `bytes`, anywhere in it.
  std::string_view stretch(const std::string &bytes) {
    size_t begin = position(bytes);
    return std::string_view(bytes).substr(begin, below(64));
  }

  void mutateOnce(std::string &bytes, const std::vector<std::string> &corpus) {
    switch (below(16)) {
    case 0:
    case 1:
      return flipBit(bytes);
    case 2:
      return setByte(bytes);
    case 3:
      return bytes.resize(position(bytes));
    case 4: {
      size_t at = position(bytes);
      bytes.erase(at, below(64));
      return;
    }
    case 5: {
      std::string copy(stretch(bytes));
      bytes.insert(position(bytes), copy);
      return;
    }
    case 6:
      return splice(bytes, oneOf(corpus));
    case 7:
      return nest(bytes);
    case 8:
      return hostileInteger(bytes);
    case 9:
    case 10:
      return hostileNumber(bytes);
    case 11:
    case 12:
    case 13:
      return moveLine(bytes);
    default:
      if (!words.empty())
        bytes.insert(position(bytes), oneOf(words));
    }
  }

  void flipBit(std::string &bytes) {
    if (!bytes.empty())
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
  }

  void setByte(std::string &bytes) {
    using namespace std::string_view_literals; // a literal that keeps its zero byte
    static constexpr auto telling = "\0\xff\x7f\x80\"'\\{}[]:,-+.eE0 \n\t#&*!|>%@`~"sv;
    if (!bytes.empty())
      bytes[below(bytes.size())] =
          below(4) ? telling[below(telling.size())] : static_cast<char>(below(256));
  }

  /// The start of one input followed by the end of another.
  void splice(std::string &bytes, const std::string &other) {
    bytes.resize(position(bytes));
    bytes += std::string_view(other).substr(position(other));
  }

  /// Takes out a line, or puts a copy of it elsewhere, or both.
  void moveLine(std::string &bytes) {
    size_t at = position(bytes);
    size_t begin = at == 0 ? 0 : bytes.rfind('\n', at - 1) + 1; // npos + 1 is 0
    size_t end = bytes.find('\n', at);
    std::string line = bytes.substr(begin, end == bytes.npos ? end : end + 1 - begin);
    uint64_t choice = below(3);
    if (choice != 0)
      bytes.erase(begin, line.size());
    if (choice != 1) {
      size_t place = bytes.find('\n', position(bytes));
      bytes.insert(place == bytes.npos ? bytes.size() : place + 1, line);
    }
  }

  /// Opens, or opens and closes, something many times.
  void nest(std::string &bytes) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kinds = {{
        {"[", "]"},
        {"{\"a\":", "}"},
        {"{", "}"},
        {"- ", ""},
        {"? ", ""},
        {"a: {", "}"},
    }};
    auto [open, close] = kinds[below(kinds.size())];
    size_t depth = size_t{1} << below(13);
    std::string nested;
    for (size_t i = 0; i < depth; ++i)
      nested += open;
    if (below(2))
      for (size_t i = 0; i < depth; ++i)
        nested += close;
    bytes.insert(position(bytes), nested);
  }

  /// Overwrites 1, 2, 4 or 8 bytes by a little-endian value near a limit.
  void hostileInteger(std::string &bytes) {
    size_t width = size_t{1} << below(4);
    if (bytes.size() < width)
      return;
    static constexpr std::array<uint64_t, 8> limits = {
        0, 1, 0x7f, 0x7fff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    uint64_t value = limits[below(limits.size())] + below(3) - 1;
    // Headers lie at the start, so half of the writes go there.
    size_t at = below(2) ? below(bytes.size() - width + 1)
                         : below(std::min<size_t>(bytes.size() - width, 64) + 1);
    for (size_t i = 0; i < width; ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i));
  }

  /// Replaces a run of digits by a number that readers get wrong.
  void hostileNumber(std::string &bytes) {
    static constexpr std::array<std::string_view, 18> numbers = {"-1",
                                                                 "0",
                                                                 "1",
                                                                 "1.5",
                                                                 "-0",
                                                                 "1e3",
                                                                 "1e308",
                                                                 "1e999",
                                                                 "4294967295",
                                                                 "4294967296",
                                                                 "9223372036854775807",
                                                                 "9223372036854775808",
                                                                 "18446744073709551615",
                                                                 "18446744073709551616",
                                                                 "-9223372036854775809",
                                                                 "NaN",
                                                                 "0x10",
                                                                 "00"};
    size_t begin = bytes.find_first_of("0123456789", position(bytes));
    if (begin == bytes.npos)
      return;
    size_t end = bytes.find_first_not_of("0123456789", begin);
    bytes.replace(begin, (end == bytes.npos ? bytes.size() : end) - begin,
                  numbers[below(numbers.size())]);
  }

  std::mt19937_64 random;
  std::vector<std::string> words;
  size_t longest = size_t{1} << 18;
};

} // namespace ingot::fuzz
