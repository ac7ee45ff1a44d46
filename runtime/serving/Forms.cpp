// SPDX-License-Identifier: Apache-2.0
// What a session does for requests whose answers have a form.
#include "runtime/serving/Session.h"

namespace ingot::runtime {

/// Makes the grammar of the answer's form.
Status Session::prepareForm(Request &request) const {
  request.sampling.hasForm = !request.form.isFree() || request.markers.limitsThoughts();
  if (!request.sampling.hasForm)
    return {};
  if (!forms)
    return Status::error("INGOT-E6008", "the engine has no tokenizer",
                         "leave the form of the answer open");
  if (request.form.isFree())
    return {};
  Result<std::shared_ptr<guided::GrammarMasks>> masks = forms->masksOf(request.form);
  if (!masks.ok())
    return std::move(masks).status();
  request.formMasks = *std::move(masks);
  return {};
}

void Session::addConstraint(const Request &prepared, Sequence &sequence) const {
  sequence.constraint.emplace(
      forms->constraintOf(prepared.form, prepared.formMasks, prepared.markers, sequence.endTokens),
      size_t(stepProgram->vocabulary()));
  if (sequence.isMasked())
    sequence.constraint->prepare(*workers);
}

/// Goes on by a token in the form of the answer, and is rid of one that has no say any more.
Status Session::advanceConstraint(Sequence &sequence, int32_t token) {
  if (sequence.constraint->accept(token)) {
    if (sequence.constraint->isOver()) {
      sequence.constraint.reset();
      sequence.sampling.hasForm = false;
    }
    return {};
  }
  const std::string of = "request " + std::to_string(sequence.id);
  // Past its limits a grammar follows no token.
  if (const Result<std::span<const uint32_t>> mask = sequence.constraint->mask(); !mask.ok())
    return Status(mask.status()).in(of);
  return Status::error("INGOT-E6606",
                       of + ": token " + std::to_string(token) +
                           " was drawn, which its form does not allow",
                       "report this as an error of Ingot");
}

} // namespace ingot::runtime
