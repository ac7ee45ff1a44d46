// SPDX-License-Identifier: Apache-2.0
// AnswerParser: tells text, reasoning and calls apart while an answer streams.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/CallReader.h"
#include "runtime/chat/MarkerScanner.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// What comes out depends on the bytes alone, never on the pieces in which they come: pieces may
/// end within markers and within characters, and what they give, appended, is the same. Time is
/// linear in the answer; what is held back is what may begin a marker, white space that may stand
/// before one, and what a form needs to be sure of a call. One thread uses a parser.
class AnswerParser {
public:
  /// The families are rows of the table; noFamily() leaves its part as text. Where there are no
  /// tools, the family still says what stands around a text: `settings.calls` is false then.
  AnswerParser(const AnswerFamily &reasoning, const AnswerFamily &tools, AnswerSettings settings);

  /// Takes the next piece and appends what it makes certain.
  void feed(std::string_view piece, std::vector<AnswerEvent> &events);
  /// The answer ends here, whole or cut; what was undecided is appended. Nothing may follow.
  void finish(std::vector<AnswerEvent> &events);
  /// Whether the answer ended within a call, behind its first marker, that is not whole.
  bool endedInCall() const { return calls.isCut; }

private:
  enum class Mode { Text, Reasoning, Call };
  enum class Role { Open, Reasoning, Close, Frame };
  struct Markers {
    std::vector<std::string_view> texts;
    std::vector<Role> roles;
    void add(std::string_view text, Role role);
  };

  void collectMarkers();
  void readPrompt(std::string_view promptTail, bool endsInWords);
  void consume(char byte);
  void step(char byte);
  bool beginsBareCall(char byte) const;
  void startCalls(std::string_view open);
  void drain(bool isEnd);
  void found(size_t marker);
  void releaseText(char byte);
  void releaseReasoning(char byte);
  bool holdsSpace() const;
  void afterCalls(CallReader::Result result);
  void readAgain(std::string_view bytes);
  void giveText(std::string text);
  void give(AnswerEvent::Kind kind, std::string_view text);
  const Markers &current() const;

  const AnswerFamily *reasoning;
  const AnswerFamily *tools;
  CallReader calls;
  Mode mode = Mode::Text;
  Markers atStart, later, closing;
  MarkerScanner held;
  std::string space;           ///< that belongs to the text only if text follows
  std::string again;           ///< bytes to be read before others, the last one first
  std::string partial;         ///< the beginning of a character
  size_t phantom = 0;          ///< first bytes that are held but stand in the prompt
  bool inReasoning = false;    ///< where the calls that are read began
  bool textBegun = false;      ///< what is looked for only where a text begins is so no more
  bool textGiven = false;      ///< there was text before
  bool reasoningBegun = false; ///< in the block that is read
  bool reasoningGiven = false; ///< in a block before
  bool apart = false;          ///< something else stands between this text and that before
  bool afterCall = false;      ///< white space here is between calls
  bool skipLines = false;      ///< line breaks here are the family's
  bool frameSeen = false;
  std::vector<AnswerEvent> fresh;
};

} // namespace ingot::runtime
