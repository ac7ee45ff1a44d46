// SPDX-License-Identifier: Apache-2.0
// All that includes libedit.
#include "runtime/tools/LineEditor.h"

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <editline/readline.h>
#include <unistd.h>

namespace ingot::runtime {

LineEditor::LineEditor() : terminal(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
  if (!terminal)
    return;
  // Characters of more than one byte are edited as one.
  std::setlocale(LC_CTYPE, "");
  rl_initialize();
  // Whoever asks for lines handles signals.
  rl_catch_signals = 0;
}

LineEditor::Next LineEditor::next(const std::string &prompt, std::string &line) {
  line.clear();
  if (terminal) {
    errno = 0;
    char *read = readline(prompt.c_str());
    if (!read)
      return errno == EINTR ? Next::Interrupted : Next::End;
    line = read;
    std::free(read);
    if (line.find_first_not_of(" \t") != std::string::npos)
      add_history(line.c_str());
    return Next::Line;
  }
  errno = 0;
  for (int byte; (byte = std::fgetc(stdin)) != EOF && byte != '\n';)
    line += char(byte);
  if (!std::feof(stdin))
    return std::ferror(stdin) && errno == EINTR ? (std::clearerr(stdin), Next::Interrupted)
                                                : Next::Line;
  return line.empty() ? Next::End : Next::Line;
}

} // namespace ingot::runtime
