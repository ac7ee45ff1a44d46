// SPDX-License-Identifier: Apache-2.0
// GenerationConfig: the stop tokens and sampling defaults of a `generation_config.json`.
#pragma once

#include "compiler/checkpoint/Json.h"

namespace ingot::checkpoint {

/// Whatever the file does not give is absent: the server's own default applies.
struct GenerationConfig {
  std::optional<std::vector<uint64_t>> eosIds; ///< where given, the complete set of stop tokens
  std::optional<uint64_t> bosId;
  std::optional<uint64_t> padId;
  std::optional<bool> doSample;
  std::optional<double> temperature;       ///< >= 0
  std::optional<double> topP;              ///< 0 to 1
  std::optional<uint64_t> topK;            ///< 0: no limit
  std::optional<double> minP;              ///< 0 to 1
  std::optional<double> repetitionPenalty; ///< > 0

  /// Ids must be below `vocabSize`. Errors: those of Json.
  static Expected<GenerationConfig> parse(std::string_view text, const std::string &fileName,
                                          uint64_t vocabSize);
  static Expected<GenerationConfig> read(const std::filesystem::path &path, uint64_t vocabSize);
};

} // namespace ingot::checkpoint
