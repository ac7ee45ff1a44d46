// SPDX-License-Identifier: Apache-2.0
// What an answer consists of, in the order in which the model writes it.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct AnswerEvent {
  /// Each `CallBegin` has one `CallEnd`, with nothing but `CallArguments` between them.
  enum class Kind { Text, Reasoning, CallBegin, CallArguments, CallEnd };
  Kind kind;
  int call = 0;     ///< index of the call in the answer
  std::string text; ///< `CallBegin`: the function's name; `CallArguments`: a piece of JSON
  std::string id;   ///< `CallBegin`: the identifier that the model gave, or empty
  /// `CallEnd`: the arguments are one JSON object. False where the answer ended in the call, or
  /// where the rest of it was malformed, which then is text.
  bool whole = true;
};

/// A function that may be called.
struct AnswerTool {
  std::string name;
  nlohmann::ordered_json parameters; ///< JSON schema; tells types where a family's text does not
  bool strict = false;               ///< its arguments have to match, whoever asked for the call
};

struct AnswerSettings {
  std::vector<AnswerTool> tools;
  bool parallel = true;  ///< else calls after the first are left out
  bool calls = true;     ///< else what looks like a call is text
  bool mustCall = false; ///< the answer has to be a call
  std::string onlyTool;  ///< of `mustCall`: of this one; empty: of any
  /// The prompt from where the answer's own turn begins: it may have begun to think.
  std::string promptTail;
  /// Whether the prompt ends with words of the answer itself, which are no marker of the template.
  bool promptEndsInWords = false;
  /// Arguments are given out as they come. Else a call is given out when it is whole, and a
  /// malformed one is text with all of its markers.
  bool streamed = true;

  /// Whether the answer's calls are held to the schemas.
  bool bindsCalls() const {
    return calls && (mustCall || std::ranges::any_of(tools, &AnswerTool::strict));
  }
};

} // namespace ingot::runtime
