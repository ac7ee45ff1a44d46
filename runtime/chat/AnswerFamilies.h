// SPDX-License-Identifier: Apache-2.0
// AnswerFamily: how models of a family write calls of tools and what they think. A family is a row
// of data; AnswerParser is the one engine that reads them all.
#pragma once

#include "runtime/chat/LiteralScanner.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// How the arguments of a call are written, and with them perhaps its name.
enum class ArgumentForm {
  Json,       ///< an object
  JsonCall,   ///< an object with the name, the arguments and perhaps an identifier as members
  NamedJson,  ///< an object with one member: the name is its key, the arguments its value
  Tagged,     ///< a marker pair around each name and value
  PythonCall, ///< `(name=value, …)`
  Gemma       ///< `{name:value,…}`, strings between `<|"|>`
};

/// A piece between a call's beginning and its arguments. Names and identifiers end at the first
/// byte that neither may contain, other text at `end`. Parts may be left out where the `end` of a
/// later one stands.
struct HeadPart {
  enum class Kind { None, Name, Id, Other };
  Kind kind = Kind::None;
  std::string_view end;       ///< a marker that has to follow; may be empty after a name
  std::string_view text = {}; ///< Other: what calls that are held to the form write
};

/// The markers of `ArgumentForm::Tagged`.
struct ArgumentTags {
  std::string_view key, keyEnd;
  std::string_view value = {}; ///< may be empty: the value follows `keyEnd`
  std::string_view valueEnd;
  bool onLines = false; ///< a line break on each side of a value is not part of it
  /// What a key ends with when its value is a string, and when it is JSON; both empty where the
  /// text says neither.
  std::string_view ofString = {}, ofJson = {};
};

/// The members of `ArgumentForm::JsonCall` as calls that are held to the form write them; others
/// are read too.
struct CallKeys {
  std::string_view name = "name", arguments = "arguments";
  std::string_view id = {};     ///< empty: there is none
  std::string_view idText = {}; ///< an expression of it
  bool idFirst = false;         ///< else the last one, which may be missing
};

/// One way to write calls. White space may stand before every marker but `open`.
struct CallForm {
  std::string_view open; ///< where calls begin; empty: `bare`
  char bare = 0;         ///< calls begin with this byte, where a text begins
  bool isList = false;   ///< calls stand between brackets, with commas
  char separator = 0;    ///< between calls that are not a list
  std::string_view callOpen = {};
  std::array<HeadPart, 2> head = {};
  ArgumentForm arguments = ArgumentForm::Json;
  bool idFollows = false; ///< the identifier comes after the arguments, which wait for it
  ArgumentTags tags = {};
  CallKeys keys = {};
  std::string_view argumentsClose = {}, callClose = {};
  std::string_view close = {}; ///< where calls end; empty: after the call or the list
  bool readOnly = false;       ///< calls that are held to a form have another one
};

struct AnswerFamily {
  std::string_view name;
  std::string_view aliases = {}; ///< names that other servers use, with spaces between them
  std::string_view description = {};
  /// Templates of the family contain all of these; none: it is never chosen by a template.
  std::array<std::string_view, 2> toolsIn = {}, reasoningIn = {};
  std::span<const CallForm> forms = {};
  std::string_view namePrefix = {}; ///< not part of a function's name
  bool callsEndReasoning = false;   ///< its markers are never talked about: they are tokens
  std::string_view reasoningOpen = {}, reasoningClose = {};
  bool reasonsAnywhere = false; ///< else only where a text begins
  /// Markers around text that are no part of it; where `framesAnywhere` is false, they are looked
  /// for only where a text begins, and after the first that was found.
  std::array<std::string_view, 5> frames = {};
  bool framesAnywhere = false;
  /// A marker may begin with this end of the prompt.
  std::string_view promptPrefix = {};
  std::span<const std::string_view> tokens = {}; ///< see markers()

  bool hasTools() const { return !forms.empty(); }
  bool hasReasoning() const { return !reasoningOpen.empty(); }
};

/// The family that knows no calls and no reasoning: all is text.
const AnswerFamily &noFamily();
/// The family of that name or alias ("none": noFamily()); null where there is none.
const AnswerFamily *toolFamily(std::string_view name);
const AnswerFamily *reasoningFamily(std::string_view name);
/// Whether a name that is no string of JSON may hold a byte.
constexpr bool isNameByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || static_cast<unsigned char>(byte) >= 0x80 ||
         std::string_view("_-.:/").find(byte) != std::string_view::npos;
}

/// All families, in the order in which chooseFamilies() tries them.
std::span<const AnswerFamily> answerFamilies();

/// Which families a conversation's answers are read with; never null.
struct AnswerFamilies {
  const AnswerFamily *reasoning;
  const AnswerFamily *tools;
};

/// By the markers in a template's text; noFamily() where none is known.
AnswerFamilies chooseFamilies(std::string_view chatTemplate);

/// Whether a prompt with this end has the model's thoughts begun and not ended.
bool isThinking(const AnswerFamily &family, std::string_view promptTail);

/// What calls begin with that end thoughts. A token says nothing else, while other markers may be
/// talked about.
std::vector<std::string_view> callsEndingThoughts(const AnswerFamily &tools);

/// Markers that are special tokens in some of the family's vocabularies. These have to be in the
/// text that a parser gets, while other special tokens are left out of it.
std::span<const std::string_view> markers(const AnswerFamily &family);

} // namespace ingot::runtime
