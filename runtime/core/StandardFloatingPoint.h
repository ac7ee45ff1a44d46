// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that results are defined by.
#pragma once

#include <cfenv>

namespace ingot::runtime {

/// While it lives its thread rounds to nearest and keeps subnormal numbers; then what was before
/// holds again. For the thread that makes it, and threads that are started meanwhile.
class StandardFloatingPoint {
public:
  StandardFloatingPoint() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardFloatingPoint() { std::fesetenv(&before); }
  StandardFloatingPoint(const StandardFloatingPoint &) = delete;
  StandardFloatingPoint &operator=(const StandardFloatingPoint &) = delete;

private:
  std::fenv_t before;
};

} // namespace ingot::runtime
