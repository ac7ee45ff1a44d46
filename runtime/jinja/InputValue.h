// SPDX-License-Identifier: Apache-2.0
// Values of JSON: what a template is given.
#pragma once

#include "runtime/jinja/Template.h"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ingot::runtime::jinja {

class Interpreter;

/// Defines those of the object's members that the template names, and gives the addresses of the
/// strings in them. Throws Failure.
std::vector<InputString> defineVariables(Interpreter &interpreter,
                                         const nlohmann::ordered_json &variables);

} // namespace ingot::runtime::jinja
