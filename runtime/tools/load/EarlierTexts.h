// SPDX-License-Identifier: Apache-2.0
// The texts of an earlier load, to which those of an equal one are compared.
#pragma once

#include "runtime/tools/load/LoadRecord.h"

#include <map>
#include <span>

namespace ingot::runtime {

/// The texts of answered and cancelled requests by their numbers, from a file that `--json` wrote.
class EarlierTexts {
public:
  /// INGOT-E7247: the text is something else. `name` is what messages call the file.
  static Result<EarlierTexts> parse(const std::string &text, const std::string &name);
  /// The same of a file. Also INGOT-E7101.
  static Result<EarlierTexts> read(const std::string &path);

  /// Success when every text is the earlier one of its number; where either was cancelled, one
  /// begins with the other. INGOT-E7248: the first that differs, or none could be compared.
  Status compare(std::span<const LoadRecord> records) const;

private:
  struct Entry {
    std::string text;
    bool cancelled;
  };
  std::string name;
  std::map<int64_t, Entry> entries;
};

} // namespace ingot::runtime
