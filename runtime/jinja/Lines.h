// SPDX-License-Identifier: Apache-2.0
// Lines of a text, by all that str.splitlines() of Python takes for an end of a line.
#pragma once

#include "runtime/core/Span.h"

#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

std::vector<Span> linesOf(std::string_view text, bool keepsEnds = false);

} // namespace ingot::runtime::jinja
