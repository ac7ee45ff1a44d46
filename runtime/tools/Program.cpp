// SPDX-License-Identifier: Apache-2.0
// The first and the last things that a program does.
#include "runtime/tools/Program.h"

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

static int guarded(int argc, char **argv, int (*work)(int argc, char **argv)) {
  try {
    return work(argc, argv);
  } catch (const std::bad_alloc &) {
    std::fputs("error: INGOT-E6010: there is not enough memory for this; lower the limits or give "
               "the process more\n",
               stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr,
                 "error: INGOT-E2110: %s; report this with the command line and its input\n",
                 error.what());
  } catch (...) {
    std::fputs("error: INGOT-E2110: an exception without a text; report this with the command line "
               "and its input\n",
               stderr);
  }
  return 1;
}

int runProgram(int argc, char **argv, int (*work)(int argc, char **argv)) {
  occupyStandardStreams();
  reportFileFaults();
  int status = guarded(argc, argv, work);
  Status written = flushOutput();
  if (written.ok() || status != 0)
    return status;
  std::fprintf(stderr, "error: %s\n", written.toString().c_str());
  return 1;
}

} // namespace ingot::runtime
