// SPDX-License-Identifier: Apache-2.0
// An answer as the parts that conversations have: text, reasoning, calls of tools.
#pragma once

#include "runtime/chat/AnswerParser.h"

namespace ingot::runtime {

/// Grows with the text of one answer.
class AnswerBlocks {
public:
  struct Block {
    AnswerEvent::Kind kind; ///< Text, Reasoning, or CallBegin of a call
    std::string text = {};  ///< of a call: its arguments
    std::string name = {};  ///< of a call
    std::string id = {};    ///< of a call; the model's, or 9 random letters and digits
    bool whole = true;      ///< of a call: its arguments are an object

    bool isCall() const { return kind == AnswerEvent::Kind::CallBegin; }
  };
  /// What a piece does to a block. Each block is opened, extended any number of times and closed
  /// before the next one is opened.
  struct Change {
    enum class Kind { Opened, Extended, Closed };
    Kind kind;
    size_t block;           ///< index
    std::string piece = {}; ///< of Extended
  };

  AnswerBlocks(const AnswerFamilies &families, AnswerSettings settings)
      : parser(*families.reasoning, *families.tools, std::move(settings)) {}

  /// The next piece of the answer; `ends`: it is the last.
  std::vector<Change> take(std::string_view piece, bool ends);

  const std::vector<Block> &blocks() const { return all; }
  /// All text, or all reasoning.
  std::string textOf(AnswerEvent::Kind kind) const;
  /// Whether there is a call that is whole.
  bool calls() const;
  /// Whether the answer ended within a call.
  bool endedInCall() const { return parser.endedInCall(); }
  /// Whether what comes next is reasoning, as far as is known.
  bool inReasoning() const { return open && all.back().kind == AnswerEvent::Kind::Reasoning; }

private:
  void apply(AnswerEvent &event, std::vector<Change> &changes);
  void close(std::vector<Change> &changes);

  AnswerParser parser;
  std::vector<Block> all;
  bool open = false; ///< the last block
};

} // namespace ingot::runtime
