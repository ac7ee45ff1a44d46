// SPDX-License-Identifier: Apache-2.0
// Values of JSON: what a template is given.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ingot::runtime::jinja {

class Interpreter;

/// Defines those of the object's members that the template names. Throws Failure.
void defineVariables(Interpreter &interpreter, const nlohmann::ordered_json &variables);

} // namespace ingot::runtime::jinja
