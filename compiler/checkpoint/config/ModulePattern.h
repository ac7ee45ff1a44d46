// SPDX-License-Identifier: Apache-2.0
// Patterns over names of modules, as configurations of PEFT have them.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <memory>
#include <string_view>

namespace ingot::checkpoint {

/// A regular expression for a name, or for the end of one behind a dot. What Python and PCRE2 read
/// alike is supported: no groups but ( and (?:, no references, no possessive repeats. Hostile
/// patterns and names end in an error.
class ModulePattern {
public:
  /// Errors: INGOT-E1120.
  static Expected<ModulePattern> compile(std::string_view pattern, const std::string &where);

  /// Error: INGOT-E1120 where it would take too many steps to tell.
  Expected<bool> matches(std::string_view module) const;

private:
  ModulePattern(std::string text, std::string where, std::shared_ptr<const void> code)
      : text(std::move(text)), where(std::move(where)), code(std::move(code)) {}
  Error refuse(std::string_view why) const;

  std::string text, where;
  std::shared_ptr<const void> code; ///< pcre2_code
};

} // namespace ingot::checkpoint
