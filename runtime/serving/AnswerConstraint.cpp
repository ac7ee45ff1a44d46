// SPDX-License-Identifier: Apache-2.0
// Who makes the mask of a token, and that it is made once.
#include "runtime/serving/AnswerConstraint.h"

namespace ingot::runtime {

/// Outlives its answer while a worker has it.
struct AnswerConstraint::Work {
  std::unique_ptr<guided::TokenConstraint> constraint;
  std::vector<uint32_t> words;
  Status status;
  bool isMade = false; ///< `words` and `status` are of the next token
  std::mutex guard;    ///< of all

  void make() {
    std::lock_guard lock(guard);
    if (isMade)
      return;
    status = constraint->mask(words);
    isMade = true;
  }
};

AnswerConstraint::AnswerConstraint(std::unique_ptr<guided::TokenConstraint> constraint,
                                   size_t vocabulary)
    : work(std::make_shared<Work>()) {
  work->constraint = std::move(constraint);
  work->words.resize((vocabulary + 31) / 32);
  slackNow = work->constraint->slack();
}

bool AnswerConstraint::accept(int32_t token) {
  std::lock_guard lock(work->guard);
  work->isMade = false;
  const bool isTaken = work->constraint->accept(token);
  slackNow = work->constraint->slack();
  return isTaken;
}

void AnswerConstraint::rollback(size_t count) {
  std::lock_guard lock(work->guard);
  work->isMade = false;
  work->constraint->rollback(count);
  slackNow = work->constraint->slack();
}

bool AnswerConstraint::mayEnd() {
  std::lock_guard lock(work->guard);
  return work->constraint->mayEnd();
}

bool AnswerConstraint::mustEnd() {
  std::lock_guard lock(work->guard);
  return work->constraint->mustEnd();
}

bool AnswerConstraint::insists() {
  std::lock_guard lock(work->guard);
  return work->constraint->insists();
}

void AnswerConstraint::prepare(Workers &workers) {
  workers.post([work = work] { work->make(); });
}

Result<std::span<const uint32_t>> AnswerConstraint::mask() {
  work->make();
  if (!work->status.ok())
    return work->status;
  return std::span<const uint32_t>(work->words);
}

} // namespace ingot::runtime
