// SPDX-License-Identifier: Apache-2.0
// An engine in a few lines for people: what `inspect` shows first, and `diff` compares first.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ingot::runtime {

/// One thing that people ask of an engine.
struct OverviewRow {
  std::string title; ///< the same in every engine: "products"
  std::string text;  ///< "int4 in groups of 32; int8 by row: embed_tokens"
  /// What `text` is of, by name: limits, files and their digests. Empty: `text` says all.
  std::map<std::string, std::string> parts;
};

/// The rows of what describeFile() gave, in the order in which they are shown. A target has one,
/// with its name as the title.
std::vector<OverviewRow> overviewOf(const nlohmann::json &engine);

/// How the encoder of pictures holds its matrices, of `weights` as describeEngine() has them: "int8
/// by row; bf16: vision.merger.linear_fc2". Empty: there is none.
std::string encoderFormats(const nlohmann::json &weights);

/// A row for each one that differs, whose text says how: "int4 in groups of 32 -> int8 by row".
std::vector<OverviewRow> changesOf(const std::vector<OverviewRow> &before,
                                   const std::vector<OverviewRow> &after);

/// Prints a line for each row, in two columns.
void printOverview(const std::vector<OverviewRow> &rows);

} // namespace ingot::runtime
