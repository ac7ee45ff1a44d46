// SPDX-License-Identifier: Apache-2.0
// Blocks from what the parser says, which calls alone have a beginning and an end in.
#include "runtime/chat/AnswerBlocks.h"

#include "runtime/core/SystemRandom.h"

#include <algorithm>
#include <utility>

namespace ingot::runtime {

/// In the form that is asked for most strictly: templates of Mistral refuse any other.
static std::string randomId() {
  static constexpr std::string_view letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id;
  for (uint64_t bits = systemRandom(); id.size() < 9; bits /= letters.size())
    id += letters[bits % letters.size()];
  return id;
}

void AnswerBlocks::close(std::vector<Change> &changes) {
  if (std::exchange(open, false))
    changes.push_back({Change::Kind::Closed, all.size() - 1});
}

void AnswerBlocks::apply(AnswerEvent &event, std::vector<Change> &changes) {
  using Kind = AnswerEvent::Kind;
  if (event.kind == Kind::CallEnd) {
    all.back().whole = event.whole;
    return close(changes);
  }
  bool continues = event.kind == Kind::CallArguments ||
                   (open && event.kind != Kind::CallBegin && all.back().kind == event.kind);
  if (!continues) {
    close(changes);
    Block &block = all.emplace_back(Block{event.kind});
    if (block.isCall()) {
      block.name = std::move(event.text);
      block.id = event.id.empty() ? randomId() : std::move(event.id);
      event.text.clear();
    }
    open = true;
    changes.push_back({Change::Kind::Opened, all.size() - 1});
  }
  if (event.text.empty())
    return;
  all.back().text += event.text;
  changes.push_back({Change::Kind::Extended, all.size() - 1, std::move(event.text)});
}

std::vector<AnswerBlocks::Change> AnswerBlocks::take(std::string_view piece, bool ends) {
  std::vector<AnswerEvent> events;
  parser.feed(piece, events);
  if (ends)
    parser.finish(events);
  std::vector<Change> changes;
  for (AnswerEvent &event : events)
    apply(event, changes);
  if (ends)
    close(changes);
  return changes;
}

std::string AnswerBlocks::textOf(AnswerEvent::Kind kind) const {
  std::string text;
  for (const Block &block : all)
    if (block.kind == kind)
      text += block.text;
  return text;
}

bool AnswerBlocks::calls() const {
  return std::any_of(all.begin(), all.end(),
                     [](const Block &block) { return block.isCall() && block.whole; });
}

} // namespace ingot::runtime
