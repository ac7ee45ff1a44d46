// SPDX-License-Identifier: Apache-2.0
// What the checks of a self-test found.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tools/Table.h"

#include <functional>

namespace ingot::runtime {

/// Tells results as they come and remembers the first failure.
class Verdict {
public:
  /// `tell` gets each line, with its end.
  explicit Verdict(std::function<void(const std::string &)> tell) : tell(std::move(tell)) {}

  void add(const char *check, bool passed, const std::string &what) {
    line(check, passed ? "passed" : "FAILED", printable(what));
    if (!passed && failure.empty())
      failure = std::string(check) + ": " + what;
  }
  void skip(const char *check, const char *why) { line(check, "-", why); }
  /// A check that every engine is meant to allow, and this one does not.
  void miss(const char *check, const std::string &why) {
    line(check, "NONE", printable(why));
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
  void line(std::string check, std::string result, const std::string &what) {
    constexpr size_t checkWidth = 10, resultWidth = 11;
    check.resize(std::max(check.size() + 1, checkWidth), ' ');
    result.resize(std::max(result.size() + 1, resultWidth), ' ');
    tell("  " + check + result + what + "\n");
  }

  std::function<void(const std::string &)> tell;
  std::string failure;
  bool complete = true;
};

} // namespace ingot::runtime
