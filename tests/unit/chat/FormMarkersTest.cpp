// SPDX-License-Identifier: Apache-2.0
// Where thoughts end: constraints and the parser of answers agree, for each family.
#include "runtime/chat/FormMarkers.h"

#include "runtime/chat/AnswerParser.h"
#include "runtime/guided/ThoughtLimit.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

/// A vocabulary of bytes.
std::shared_ptr<const guided::SpelledTokens> bytes() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte)
    texts.emplace_back(1, char(byte));
  return std::make_shared<const guided::SpelledTokens>(std::move(texts), std::vector<bool>(256));
}

/// Goes on by `text` and, where `limit` allows one token alone, by that.
std::string follow(guided::ThoughtLimit &limit, std::string_view text) {
  std::string all;
  auto take = [&](char byte) {
    if (limit.accept(uint8_t(byte)))
      all += byte;
    else
      ADD_FAILURE() << "refused behind " << all;
  };
  auto takeForced = [&] {
    while (limit.insists()) {
      std::vector<uint32_t> words(8);
      ASSERT_TRUE(limit.mask(words).ok());
      int byte = 0;
      while (byte < 255 && !(words[size_t(byte) / 32] >> (byte % 32) & 1))
        ++byte;
      take(char(byte));
    }
  };
  takeForced();
  for (const char byte : text) {
    take(byte);
    takeForced();
  }
  return all;
}

/// What is thought and what is said in an answer.
std::pair<std::string, std::string> read(const AnswerFamilies &families, AnswerSettings settings,
                                         const std::string &answer) {
  AnswerParser parser(*families.reasoning, *families.tools, std::move(settings));
  std::vector<AnswerEvent> events;
  parser.feed(answer, events);
  parser.finish(events);
  std::pair<std::string, std::string> all;
  for (const AnswerEvent &event : events)
    (event.kind == AnswerEvent::Kind::Reasoning ? all.first : all.second) += event.text;
  return all;
}

TEST(FormMarkersTest, ALimitEndsAThoughtInTheFamilysWords) {
  size_t count = 0;
  for (const AnswerFamily &family : answerFamilies()) {
    if (!family.hasReasoning())
      continue;
    SCOPED_TRACE(family.name);
    ++count;
    const AnswerFamilies families = {&family, &noFamily()};
    const std::string open(family.reasoningOpen);
    for (const bool inPrompt : {false, true})
      for (const uint64_t most : {0, 1, 4}) {
        AnswerSettings settings;
        if (inPrompt)
          settings.promptTail = open;
        guided::AnswerMarkers markers = thoughtMarkers(families, settings);
        EXPECT_EQ(markers.isOpen, inPrompt);
        markers.mostThought = most;
        ASSERT_TRUE(markers.limitsThoughts());
        guided::ThoughtLimit limit(markers, bytes());
        const std::string answer = follow(limit, (inPrompt ? "" : open) + "wxyz");
        const auto [thought, said] = read(families, settings, answer);
        EXPECT_EQ(thought, std::string("wxyz").substr(0, most));
        EXPECT_EQ(said, std::string("wxyz").substr(most));
      }
  }
  EXPECT_GT(count, 8u);
}

TEST(FormMarkersTest, CallsThatEndThoughts) {
  AnswerSettings settings;
  const AnswerFamilies families = {reasoningFamily("think"), toolFamily("kimi_k2")};
  settings.promptTail = "<think>";
  const guided::AnswerMarkers markers = thoughtMarkers(families, settings);
  ASSERT_FALSE(markers.calls.empty());
  EXPECT_TRUE(markers.calls[0].starts_with("<|tool_call"));
  settings.calls = false;
  EXPECT_TRUE(thoughtMarkers(families, settings).calls.empty()) << "they are text";
  EXPECT_FALSE(thoughtMarkers({&noFamily(), &noFamily()}, settings).limitsThoughts());
}

} // namespace
