// SPDX-License-Identifier: Apache-2.0
// ImportanceMatrix: how much each column of each weight counts, measured on text as the mean square
// of what the column is multiplied with. Read from llama.cpp's files in both forms, written in the
// present one.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::quantize {

/// What was measured for one tensor, which may hold the matrices of several experts.
struct ImportanceEntry {
  std::vector<float> sums;   ///< of squares: for each matrix one a column
  std::vector<float> counts; ///< of rows that were summed: one a matrix
};

struct ImportanceMatrix {
  std::map<std::string, ImportanceEntry> entries; ///< by GGUF's names of tensors
  std::vector<std::string> datasets;              ///< names of the texts
  uint32_t chunkCount = 0, chunkSize = 0;         ///< 0: unknown

  /// Every sum and count is finite and not negative, and the columns of an entry are a whole
  /// number. Errors: INGOT-E1132 for a file that is none or damaged, E1130 for a number that
  /// measures nothing; those of readGguf() and File.
  static checkpoint::Expected<ImportanceMatrix> read(const std::filesystem::path &path);

  /// The GGUF form. Errors: those of GgufWriter.
  checkpoint::Outcome write(const std::filesystem::path &path) const;

  /// The means of a tensor, all its matrices' one after another; those of a matrix that nothing
  /// was measured for are 1. Nothing where the file has none. Errors: INGOT-E1133 where they are
  /// not `matrices` of `columns` numbers.
  checkpoint::Expected<std::optional<std::vector<float>>>
  means(const std::string &tensor, uint64_t matrices, uint64_t columns) const;
};

} // namespace ingot::quantize
