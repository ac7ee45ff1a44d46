// SPDX-License-Identifier: Apache-2.0
// What the tests of both notations ask.
#pragma once

#include "runtime/guided/Recognizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

using GrammarOf = Result<std::shared_ptr<const Grammar>> (*)(std::string_view text);

/// Whether all of `text` is of the grammar.
inline bool matches(Recognizer &recognizer, std::string_view text) {
  Recognizer::State state = recognizer.start();
  for (const char byte : text) {
    state = recognizer.next(state, uint8_t(byte));
    EXPECT_TRUE(recognizer.status().ok()) << recognizer.status().toString();
    if (state == Recognizer::dead || !recognizer.status().ok())
      return false;
  }
  return recognizer.mayEnd(state);
}

struct GrammarCase {
  std::string grammar;
  std::vector<std::string> accepted, refused;
};

inline void expectCases(GrammarOf grammarOf, const std::vector<GrammarCase> &cases) {
  for (const auto &[text, accepted, refused] : cases) {
    auto grammar = grammarOf(text);
    ASSERT_TRUE(grammar.ok()) << text << "\n" << grammar.status().toString();
    Recognizer recognizer(*grammar);
    for (const std::string &one : accepted)
      EXPECT_TRUE(matches(recognizer, one)) << text << "\n[" << one << "]";
    for (const std::string &one : refused)
      EXPECT_FALSE(matches(recognizer, one)) << text << "\n[" << one << "]";
  }
}

/// A grammar that is refused, and two things that its message says: the place, and what is wrong.
struct RefusedGrammar {
  std::string grammar;
  const char *code, *place, *what;
};

inline void expectRefused(GrammarOf grammarOf, const std::vector<RefusedGrammar> &cases) {
  for (const auto &[text, code, place, what] : cases) {
    const Status status = grammarOf(text).status();
    EXPECT_EQ(status.code(), code) << text << "\n" << status.toString();
    EXPECT_NE(status.message().find(place), std::string::npos) << text << "\n" << status.toString();
    EXPECT_NE(status.message().find(what), std::string::npos) << text << "\n" << status.toString();
  }
}

/// Reads what is large, deep or endless: soon, and what is accepted can be walked.
inline void expectQuick(GrammarOf grammarOf, const std::vector<std::string> &texts) {
  for (const std::string &text : texts) {
    const auto begin = std::chrono::steady_clock::now();
    auto grammar = grammarOf(text);
    if (grammar.ok()) {
      Recognizer recognizer(*grammar, {size_t(16) << 20, 200000});
      Recognizer::State state = recognizer.start();
      for (int i = 0; i < 50 && state != Recognizer::dead && recognizer.status().ok(); ++i)
        state = recognizer.next(state, 'a');
    } else {
      EXPECT_TRUE(grammar.status().code().starts_with("INGOT-E66")) << grammar.status().toString();
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(spent.count(), 5) << text.substr(0, 60); // Sanitizers are slow.
  }
}

/// `count` times `text`.
inline std::string times(size_t count, std::string_view text) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

} // namespace ingot::runtime::guided
