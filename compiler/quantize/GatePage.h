// SPDX-License-Identifier: Apache-2.0
// A gate's report as a file: JSON, or one HTML page that needs no other file and no script.
#pragma once

#include "compiler/quantize/GateReport.h"

namespace ingot::quantize {

/// Every number of the tables also stands in an attribute, `data-value`, with all its digits.
std::string gatePage(const GateReport &report);

/// Whether a report has a form by its name. Errors: INGOT-E2146 where it ends neither in .html nor
/// in .json.
checkpoint::Outcome checkGateReport(const std::filesystem::path &path);

/// Writes a page or JSON, by the name's end. Errors: those of writeWhole().
checkpoint::Outcome writeGateReport(const GateReport &report, const std::filesystem::path &path);

} // namespace ingot::quantize
