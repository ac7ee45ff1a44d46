// SPDX-License-Identifier: Apache-2.0
// A compiled regular expression whose cost is bounded: hostile patterns and texts end in an error.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A PCRE2 pattern (UTF, UCP, MULTILINE; `^` and `$` match at lines). Immutable, so threads may
/// share it. No machine code is generated at run time.
class Regex {
public:
  /// Errors: INGOT-E5404 for a pattern that does not compile or is too large.
  static Result<Regex> compile(std::string_view pattern);

  /// Appends the matches in `text`, left to right and not overlapping; empty matches are left out.
  /// `text` must be valid UTF-8 of less than 4 GiB. The work is at most proportional to the length
  /// of `text`; a pattern that needs more gives INGOT-E6403.
  Status findAll(std::string_view text, std::vector<Span> &matches) const;

private:
  /// The limits of one findAll, and what of them is left.
  struct Search;

  std::shared_ptr<const void> code; // pcre2_code
};

} // namespace ingot::runtime
