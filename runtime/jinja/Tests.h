// SPDX-License-Identifier: Apache-2.0
// Tests: what stands behind `is`.
#pragma once

#include "runtime/jinja/Arguments.h"

#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

using TestFunction = bool (*)(Interpreter &interpreter, const Value &value,
                              const Arguments &arguments);

/// The test of that name, or null.
TestFunction findTest(std::string_view name);

} // namespace ingot::runtime::jinja
