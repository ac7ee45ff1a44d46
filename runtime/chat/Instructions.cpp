// SPDX-License-Identifier: Apache-2.0
// Instructions move as little as the template asks for: a beginning that stays can be kept.
#include "runtime/chat/Instructions.h"

#include <optional>

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

static bool instructs(const Turn &turn) { return turn.is("system") || turn.is("developer"); }

void placeInstructions(Turns &turns, const TemplateTraits &traits) {
  Turns kept;
  std::optional<Turn> pending; // for the next user's message
  bool begins = true;
  auto asUser = [&] {
    if (pending)
      kept.push_back(std::move(*pending));
    pending.reset();
  };
  for (Turn &turn : turns) {
    if (turn.is("developer") && !traits.knowsDeveloper)
      turn.message["role"] = "system";
    if (!instructs(turn)) {
      begins = false;
      if (pending && turn.is("user")) {
        appendText(*pending, turn);
        turn.message["content"] = std::move(pending->message["content"]);
        turn.index = pending->index;
        pending.reset();
      }
      asUser();
      kept.push_back(std::move(turn));
    } else if (begins && traits.knowsSystem && !kept.empty() && !traits.takesMoreSystem) {
      appendText(kept.back(), turn);
    } else if (traits.knowsSystem && (begins || traits.takesLateSystem)) {
      kept.push_back(std::move(turn));
    } else if (pending) {
      appendText(*pending, turn);
    } else {
      turn.message["role"] = "user";
      pending = std::move(turn);
    }
  }
  asUser();
  turns = std::move(kept);
}

void joinRepeats(Turns &turns, const TemplateTraits &traits) {
  if (traits.takesRepeats)
    return;
  Turns joined;
  for (Turn &turn : turns) {
    const bool repeats = !joined.empty() && joined.back().message["role"] == turn.message["role"] &&
                         (turn.is("user") || turn.is("assistant")) && !turn.hasCalls() &&
                         !joined.back().hasCalls();
    if (repeats)
      appendText(joined.back(), turn);
    else
      joined.push_back(std::move(turn));
  }
  turns = std::move(joined);
}

} // namespace ingot::runtime
