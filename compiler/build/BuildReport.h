// SPDX-License-Identifier: Apache-2.0
// A build's report as JSON.
#pragma once

#include "compiler/build/Build.h"

namespace ingot::compiler {

/// Writes `report` to `path`: targets with what every pass did at every site and why not, options
/// with their effective values and reasons, sizes, memory and time. Error: INGOT-E7020.
checkpoint::Outcome writeReport(BuildReport &report, const std::filesystem::path &path);

} // namespace ingot::compiler
