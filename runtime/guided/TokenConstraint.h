// SPDX-License-Identifier: Apache-2.0
// What an answer must look like: the interface between sampling and constraints.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot::runtime::guided {

/// One answer's constraint and how far the answer is. One thread at a time.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;

  /// Goes on by a token. False, and nothing changes, where the constraint does not allow it: a
  /// rejected draft is no error.
  virtual bool accept(int32_t token) = 0;

  /// Takes back the last `count` accepted tokens, exactly; no more than there are.
  virtual void rollback(size_t count) = 0;

  /// How many tokens are accepted.
  virtual size_t length() const = 0;

  /// Fills `words` with a bit for each token of the vocabulary: those that accept() would take.
  /// Bits beyond the vocabulary are 0. Errors: INGOT-E6605 for an answer past the limits.
  virtual Status mask(std::span<uint32_t> words) = 0;

  /// Whether the answer may end here: only then the mask has the stop tokens.
  virtual bool mayEnd() const = 0;

  /// Whether only stop tokens may follow.
  virtual bool mustEnd() const = 0;

  /// How many tokens may come, whichever they are, before one is refused: at 0 the mask is needed.
  virtual uint64_t slack() const { return 0; }
  static constexpr uint64_t forever = UINT64_MAX; ///< it has no say any more

  /// Whether what it allows comes next whatever else is asked of the answer.
  virtual bool insists() const { return mustEnd(); }
};

} // namespace ingot::runtime::guided
