// SPDX-License-Identifier: Apache-2.0
// One answer that is held to a form, and the mask of its next token, which is made beside a step.
#pragma once

#include "runtime/guided/TokenConstraint.h"
#include "runtime/serving/Workers.h"

#include <memory>
#include <span>

namespace ingot::runtime {

/// One thread uses it; workers make masks meanwhile.
class AnswerConstraint {
public:
  /// `vocabulary`: tokens of a mask.
  AnswerConstraint(std::unique_ptr<guided::TokenConstraint> constraint, size_t vocabulary);

  /// Goes on by a token; false where the form does not allow it. Waits for a mask under way.
  bool accept(int32_t token);
  /// Takes back the last `count` tokens.
  void rollback(size_t count);
  bool mayEnd();
  /// Whether nothing but the end may come.
  bool mustEnd();
  /// How many tokens may come, whichever they are, before the mask is needed. Never waits.
  uint64_t slack() const { return slackNow; }
  /// Whether it has no say any more.
  bool isOver() const { return slackNow == guided::TokenConstraint::forever; }
  /// Whether what it allows comes next whatever else is asked of the answer.
  bool insists();

  /// Lets a worker make the mask of the next token. mask() makes it where nobody has.
  void prepare(Workers &workers);
  /// A bit for each token that may come next, in words of 32; valid until the next call of another
  /// function. INGOT-E6605: the answer is past a limit.
  Result<std::span<const uint32_t>> mask();

private:
  struct Work;
  std::shared_ptr<Work> work;
  uint64_t slackNow;
};

} // namespace ingot::runtime
