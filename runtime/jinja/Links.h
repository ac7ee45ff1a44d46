// SPDX-License-Identifier: Apache-2.0
// The filter urlize: addresses in a text become links.
#pragma once

#include "runtime/jinja/Arguments.h"

namespace ingot::runtime::jinja {

class Interpreter;

Value linksInText(Interpreter &interpreter, const Value &value, const Arguments &arguments);

} // namespace ingot::runtime::jinja
