// SPDX-License-Identifier: Apache-2.0
// All that includes libedit.
#include "runtime/tools/LineEditor.h"

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <editline/readline.h>
#include <unistd.h>

namespace ingot::runtime {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void noteInterrupt(int) { interrupts = 1; }

/// Whether a call of the system that SIGINT meets goes on. So does what writes; a line is waited
/// for no longer.
void catchInterrupts(bool goesOn) {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  action.sa_flags = goesOn ? SA_RESTART : 0;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

} // namespace

LineEditor::LineEditor() : terminal(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
  catchInterrupts(true);
  if (!terminal)
    return;
  // Characters of more than one byte are edited as one.
  std::setlocale(LC_CTYPE, "");
  // It would restore the terminal and raise them again; read while it is initialised.
  rl_catch_signals = 0;
  rl_initialize();
  // What is pasted may have tabs, and a conversation no names of files to complete.
  rl_bind_key('\t', rl_insert);
}

bool LineEditor::interrupted() const { return interrupts; }

/// A line of what is no terminal; false at the end or an interrupt.
static bool readPlainLine(std::string &line) {
  int byte;
  while ((byte = std::fgetc(stdin)) != EOF && byte != '\n')
    line += char(byte);
  std::clearerr(stdin);
  return byte != EOF || (!line.empty() && !interrupts);
}

static bool readEditedLine(const std::string &prompt, std::string &line) {
  char *read = readline(prompt.c_str());
  // Where an interrupt met the prompt being written, the next is shown in full.
  std::clearerr(stdout);
  if (!read)
    return false;
  line = read;
  std::free(read);
  if (line.find_first_not_of(" \t") != std::string::npos)
    add_history(line.c_str());
  return true;
}

LineEditor::Next LineEditor::next(const std::string &prompt, std::string &line) {
  line.clear();
  interrupts = 0;
  catchInterrupts(false);
  bool got = terminal ? readEditedLine(prompt, line) : readPlainLine(line);
  catchInterrupts(true);
  Next next = got ? Next::Line : interrupts ? Next::Interrupted : Next::End;
  interrupts = 0;
  return next;
}

} // namespace ingot::runtime
