// SPDX-License-Identifier: Apache-2.0
// Lines from somebody at a terminal, with editing and history; from a pipe, as they are.
#pragma once

#include <string>

namespace ingot::runtime {

/// One in a process, whose SIGINT it notes from then on.
class LineEditor {
public:
  LineEditor();

  enum class Next {
    Line,
    Interrupted, ///< SIGINT came instead
    End,
  };
  /// Waits for a line, given without its end. `prompt` is shown at a terminal only.
  Next next(const std::string &prompt, std::string &line);

  /// Whether SIGINT came since a line was last waited for.
  bool interrupted() const;

  bool atTerminal() const { return terminal; }

private:
  bool terminal;
};

} // namespace ingot::runtime
