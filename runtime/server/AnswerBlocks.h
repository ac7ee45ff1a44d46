// SPDX-License-Identifier: Apache-2.0
// An answer as the parts that conversations have: text, reasoning, calls of tools.
#pragma once

#include "runtime/chat/AnswerParser.h"
#include "runtime/serving/Session.h"

namespace ingot::runtime {

/// Grows with the events of one answer.
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
  /// What an event does to a block. Each block is opened, extended any number of times and closed
  /// before the next one is opened.
  struct Change {
    enum class Kind { Opened, Extended, Closed };
    Kind kind;
    size_t block;           ///< index
    std::string piece = {}; ///< of Extended
  };

  AnswerBlocks(const AnswerFamilies &families, AnswerSettings settings)
      : parser(*families.reasoning, *families.tools, std::move(settings)) {}

  std::vector<Change> take(const Event &event);

  const std::vector<Block> &blocks() const { return all; }
  /// All text, or all reasoning.
  std::string textOf(AnswerEvent::Kind kind) const;
  /// Whether there is a call that is whole.
  bool calls() const;
  int64_t reasoningTokens() const { return thought; }

private:
  void apply(AnswerEvent &event, std::vector<Change> &changes);
  void close(std::vector<Change> &changes);

  AnswerParser parser;
  std::vector<Block> all;
  bool open = false; ///< the last block
  int64_t thought = 0;
};

} // namespace ingot::runtime
