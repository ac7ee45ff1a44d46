// SPDX-License-Identifier: Apache-2.0
// What the checks of a self-test found.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tools/Table.h"

namespace ingot::runtime {

/// Prints results as they come and remembers the first failure.
class Verdict {
public:
  void add(const char *check, bool passed, const std::string &what) {
    std::printf("  %-9s %-10s %s\n", check, passed ? "passed" : "FAILED", printable(what).c_str());
    if (!passed && failure.empty())
      failure = std::string(check) + ": " + what;
  }
  void skip(const char *check, const char *why) {
    std::printf("  %-9s %-10s %s\n", check, "-", why);
  }
  /// A check that every engine is meant to allow, and this one does not.
  void miss(const char *check, const std::string &why) {
    std::printf("  %-9s %-10s %s\n", check, "NONE", printable(why).c_str());
    complete = false;
  }
  /// False after a `miss`.
  bool isComplete() const { return complete; }
  /// INGOT-E6020, with the first failure, if there is one.
  Status status() const {
    return failure.empty()
               ? Status()
               : Status::error("INGOT-E6020", "the self-test failed: " + failure,
                               "rebuild the engine for this machine; if that does not help, report "
                               "this with the output of 'inspect --json'");
  }

private:
  std::string failure;
  bool complete = true;
};

} // namespace ingot::runtime
