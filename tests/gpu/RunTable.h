// SPDX-License-Identifier: Apache-2.0
// The table that ends a run: everything that matters of its result.json on one screen.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ingot::record {

/// At most 60 lines: what failed and why, launches, steps of every engine beside predictions and
/// rooflines, the costliest kernels beside their peers. Sections without results are left out.
void printRunTable(FILE *stream, const nlohmann::json &result);

/// "ENGINE SYMBOL TOKENS" of the `count` kernels that take the most of a measured step, a line
/// each, the costliest first.
void printCostliest(FILE *stream, const nlohmann::json &result, size_t count);

} // namespace ingot::record
