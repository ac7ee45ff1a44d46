// SPDX-License-Identifier: Apache-2.0
// CallReader: reads the calls that begin at a marker, byte by byte, in the forms of a family.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/MarkerScanner.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A state machine over the bytes of calls. Where a call turns out to be none, `raw` is what of it
/// was not given out, and the reader takes no more of it.
class CallReader {
public:
  enum class Result {
    More,
    Ended, ///< after the calls' end; `rest` is not part of them
    Failed ///< `raw` is text, and `rest` comes after it
  };

  /// The family is a row of the table.
  CallReader(const AnswerFamily &family, AnswerSettings settings)
      : family(&family), settings(std::move(settings)) {}

  /// Calls begin: `before` is what was read of them, with the white space in front of it, and
  /// `open` the marker, empty where they begin with their own bytes.
  void begin(std::string_view open, std::string before);
  Result feed(char byte, std::vector<AnswerEvent> &events);
  /// The answer ends here. A call whose arguments are complete needs no markers after them.
  Result finish(std::vector<AnswerEvent> &events);

  const std::string &promptTail() const { return settings.promptTail; }
  bool promptEndsInWords() const { return settings.promptEndsInWords; }
  /// The forms that calls are looked for in.
  std::span<const CallForm> forms() const {
    return settings.calls ? family->forms : std::span<const CallForm>();
  }

  std::string raw;
  std::string rest;
  bool given = false; ///< a call was, at least in part, since begin()
  bool isCut = false; ///< finish() met a call that was no longer to be taken for text

private:
  enum class State {
    Choose, ///< which of the forms with the same marker it is
    Expect, ///< one of `wanted`
    Name,
    Id,
    Other, ///< text of a head that says nothing
    Arguments,
    MemberKey,
    MemberValue,
    Tag, ///< the name of an argument
    Value
  };
  /// What follows a marker that was expected.
  enum class Then {
    Call,
    Head,
    Members,
    Member,
    NextMember,
    MemberValue,
    ObjectEnd,
    Tag,
    Value,
    CallClose,
    CallEnd,
    ListEnd,
    SectionEnd
  };
  struct Wanted {
    std::string_view text;
    Then then;
    size_t head = 0; ///< of `Then::Head`, the part that follows
  };
  enum class Step { Taken, Again, Failed, Ended };

  Step step(char byte);
  Step choose(char byte);
  void expect(std::initializer_list<Wanted> markers, bool orEnd = false);
  Step inExpected(char byte);
  Step go(const Wanted &marker);
  Step startCall();
  void forgetCall();
  Step startHead(size_t part);
  Step inName(char byte);
  Step endName();
  Step inOther(char byte);
  Step startArguments();
  Step inArguments(char byte);
  Step afterArguments();
  Step endCall();
  Step endList();
  void expectTag();
  Step startTag();
  Step inTag(char byte);
  Step startValue();
  Step inValue(char byte);
  Step endValue();
  void giveUnfinished();
  void giveValue(char byte);
  void giveJson(char byte);
  Step startMember();
  Step inMemberKey(char byte);
  Step startMemberValue();
  Step inMemberValue(char byte);
  bool endMemberValue();
  Step endObject();

  void giveBegin();
  bool isHeld() const { return !settings.streamed || isMuted; }
  void give(AnswerEvent::Kind kind, std::string_view text = {});
  void fail();

  const AnswerFamily *family;
  AnswerSettings settings;
  std::vector<const CallForm *> candidates;
  const CallForm *form = nullptr;
  std::vector<AnswerEvent> *events = nullptr;
  std::vector<AnswerEvent> waiting; ///< of a call that is given out whole
  int calls = 0;                    ///< that were begun in the answer

  State state = State::Choose;
  std::vector<Wanted> wanted;
  bool orEnd = false;   ///< another text than `wanted` ends the calls
  bool between = false; ///< a call ended, and none has begun after it
  MarkerScanner held;
  size_t part = 0; ///< of the head
  // Of the current call:
  bool begun = false;    ///< its `CallBegin` was given
  bool complete = false; ///< its arguments are whole
  bool isMuted = false;  ///< it is left out
  bool hasArguments = false;
  std::string name, id, arguments;
  std::ptrdiff_t tool = -1; ///< its index in the settings' tools
  // Of the current member, tag or value:
  enum class Role { Name, Id, Arguments, Other } role = Role::Other;
  bool isFirst = true;
  bool atValueStart = false;
  bool isStreamed = false; ///< the value goes out as it comes
  uint8_t types = AnyJson;
  std::string key, text;
  LiteralScanner scanner;
};

} // namespace ingot::runtime
