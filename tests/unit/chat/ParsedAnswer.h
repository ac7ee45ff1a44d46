// SPDX-License-Identifier: Apache-2.0
// An answer put together from the events of a parser, however the text was cut into pieces.
#pragma once

#include "runtime/chat/AnswerParser.h"

#include <gtest/gtest.h>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::test {

struct ParsedCall {
  std::string name, id, arguments;
  bool whole = true;
  bool operator==(const ParsedCall &) const = default;
};

struct ParsedAnswer {
  std::string text, reasoning;
  std::vector<ParsedCall> calls;
  bool operator==(const ParsedAnswer &) const = default;
};

inline std::ostream &operator<<(std::ostream &out, const ParsedAnswer &answer) {
  out << "text <" << answer.text << "> reasoning <" << answer.reasoning << ">";
  for (const ParsedCall &call : answer.calls)
    out << " call " << call.name << " id <" << call.id << "> " << call.arguments
        << (call.whole ? "" : " (not whole)");
  return out;
}

/// Which families read an answer, and how.
struct Reading {
  const runtime::AnswerFamily *reasoning = &runtime::noFamily();
  const runtime::AnswerFamily *tools = &runtime::noFamily();
  runtime::AnswerSettings settings = {};
};

/// Takes the events of an answer and checks their order.
class AnswerBuilder {
public:
  void add(const std::vector<runtime::AnswerEvent> &events) {
    using Kind = runtime::AnswerEvent::Kind;
    for (const runtime::AnswerEvent &event : events) {
      const bool ofCall = event.kind == Kind::CallArguments || event.kind == Kind::CallEnd;
      EXPECT_EQ(inCall, ofCall);
      if (ofCall || event.kind == Kind::CallBegin) {
        const size_t index = answer.calls.size() - (ofCall ? 1 : 0);
        EXPECT_EQ(static_cast<size_t>(event.call), index);
      }
      switch (event.kind) {
      case Kind::Text:
        answer.text += event.text;
        break;
      case Kind::Reasoning:
        answer.reasoning += event.text;
        break;
      case Kind::CallBegin:
        answer.calls.push_back({event.text, event.id, {}});
        inCall = true;
        break;
      case Kind::CallArguments:
        answer.calls.back().arguments += event.text;
        break;
      case Kind::CallEnd:
        answer.calls.back().whole = event.whole;
        inCall = false;
      }
    }
  }
  ParsedAnswer finish() {
    EXPECT_FALSE(inCall);
    return answer;
  }

private:
  ParsedAnswer answer;
  bool inCall = false;
};

/// `answer` read in pieces that end at `cuts`, which rise.
inline ParsedAnswer parse(const Reading &reading, std::string_view answer,
                          const std::vector<size_t> &cuts = {}) {
  runtime::AnswerParser parser(*reading.reasoning, *reading.tools, reading.settings);
  AnswerBuilder builder;
  size_t begin = 0;
  const auto feed = [&](size_t end) {
    std::vector<runtime::AnswerEvent> events;
    parser.feed(answer.substr(begin, end - begin), events);
    builder.add(events);
    begin = end;
  };
  for (const size_t cut : cuts)
    feed(cut);
  feed(answer.size());
  std::vector<runtime::AnswerEvent> events;
  parser.finish(events);
  builder.add(events);
  return builder.finish();
}

/// Parses whole, byte by byte, in each two pieces and in `random` ways, which all have to agree.
inline ParsedAnswer parseAtEverySplit(const Reading &reading, std::string_view answer,
                                      int random = 8) {
  const ParsedAnswer whole = parse(reading, answer);
  std::vector<size_t> every;
  for (size_t cut = 1; cut < answer.size(); ++cut) {
    every.push_back(cut);
    EXPECT_EQ(parse(reading, answer, {cut}), whole) << "cut at " << cut << " of " << answer;
  }
  EXPECT_EQ(parse(reading, answer, every), whole) << "byte by byte: " << answer;
  std::minstd_rand generator(7);
  for (int i = 0; i < random; ++i) {
    std::vector<size_t> cuts;
    for (const size_t cut : every)
      if (generator() % 5 == 0)
        cuts.push_back(cut);
    EXPECT_EQ(parse(reading, answer, cuts), whole) << answer;
  }
  return whole;
}

} // namespace ingot::test
