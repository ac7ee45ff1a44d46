// SPDX-License-Identifier: Apache-2.0
// The first and the last things that a program does.
#include "runtime/tools/Program.h"

#include "runtime/tools/CommandLine.h"
#include "runtime/tools/FileFaults.h"
#include "runtime/tools/SessionArguments.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace ingot::runtime {

/// Opens what is closed for the other direction, so that using it is an error as it was before.
static void occupyStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Reports the exception that is being handled; the exit status.
static int reportException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return reportNoMemory();
  } catch (const std::exception &error) {
    return reportDefect(error.what());
  } catch (...) {
    return reportDefect("an exception without a text");
  }
}

/// What ends the process where an exception leaves a thread.
[[noreturn]] static void endByException() {
  if (std::current_exception())
    reportException();
  else
    reportDefect("the program ended itself");
  _exit(1);
}

static int guarded(int argc, char **argv, int (*work)(int argc, char **argv)) {
  try {
    return work(argc, argv);
  } catch (...) {
    return reportException();
  }
}

int runProgram(int argc, char **argv, int (*work)(int argc, char **argv)) {
  occupyStandardStreams();
  reportFileFaults();
  std::set_terminate(endByException);
  int status = guarded(argc, argv, work);
  Status written = flushOutput();
  return written.ok() || status != 0 ? status : reportError(written);
}

int reportNoMemory() {
  std::fputs("error: INGOT-E6010: there is not enough memory for this; lower the limits or give "
             "the process more\n",
             stderr);
  return 1;
}

int reportDefect(const std::string &what) {
  return reportError(
      Status::error("INGOT-E2110", what, "report this with the command line and its input"));
}

int reportError(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", status.toString().c_str());
  return status.code() == "INGOT-E2100" || status.code() == "INGOT-E2103" ? 2 : 1;
}

Status usageError(const std::string &program, const std::string &what) {
  return Status::error("INGOT-E2103", what, "`" + program + " --help` tells the options");
}

Status readArguments(CommandLine &app, int argc, char **argv, bool &isHelp) {
  CommandLine::Outcome outcome = app.parse(argc, argv);
  isHelp = !outcome.goesOn && outcome.error.empty();
  if (!outcome.error.empty())
    return usageError(app.name(), outcome.error);
  return isHelp ? Status() : app.files().check();
}

bool parseArguments(CommandLine &app, int argc, char **argv, int &exitStatus) {
  bool isHelp = false;
  const Status usable = readArguments(app, argc, argv, isHelp);
  exitStatus = usable.ok() ? 0 : reportError(usable);
  return usable.ok() && !isHelp;
}

} // namespace ingot::runtime
