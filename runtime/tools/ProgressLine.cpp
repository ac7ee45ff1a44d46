// SPDX-License-Identifier: Apache-2.0
// Overwrites one line, or adds one now and then.
#include "runtime/tools/ProgressLine.h"

#include <cstdio>
#include <unistd.h>

namespace ingot::runtime {

static constexpr const char *clearLine = "\r\033[K";
static bool hasTerminal() { return isatty(STDERR_FILENO) == 1; }

ProgressLine::ProgressLine()
    : ProgressLine(std::chrono::milliseconds(hasTerminal() ? 500 : 20'000)) {}

ProgressLine::ProgressLine(std::chrono::milliseconds interval)
    : isTerminal(hasTerminal()), interval(interval),
      next(Clock::now() + (isTerminal ? std::chrono::milliseconds(0) : interval)) {}

ProgressLine::~ProgressLine() {
  if (isTerminal && isShown)
    std::fputs(clearLine, stderr);
}

void ProgressLine::write(const std::string &text) {
  isShown = true;
  if (isTerminal)
    std::fprintf(stderr, "%s%s", clearLine, text.c_str());
  else
    std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
  next = Clock::now() + interval;
}

} // namespace ingot::runtime
