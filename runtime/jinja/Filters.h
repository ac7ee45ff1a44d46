// SPDX-License-Identifier: Apache-2.0
// Filters: what stands behind `|`.
#pragma once

#include "runtime/jinja/Arguments.h"

#include <span>
#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

using FilterFunction = Value (*)(Interpreter &interpreter, const Value &value,
                                 const Arguments &arguments);

struct Filter {
  std::string_view name;
  FilterFunction run;
};

/// The filter of that name, or null.
FilterFunction findFilter(std::string_view name);

// By what they take; each table is in the file of its name.
std::span<const Filter> textFilters();
std::span<const Filter> wrappingFilters();
std::span<const Filter> htmlFilters();
std::span<const Filter> sequenceFilters();
std::span<const Filter> selectingFilters();
std::span<const Filter> valueFilters();

} // namespace ingot::runtime::jinja
