// SPDX-License-Identifier: Apache-2.0
// GenerationConfig: the stop tokens and sampling defaults of a `generation_config.json`.
#pragma once

#include "compiler/checkpoint/files/Deviation.h"
#include "compiler/checkpoint/files/Json.h"

namespace ingot::checkpoint {

/// Whatever the file does not give is absent: the server's own default applies. No value of it can
/// keep a model from being built: one that makes no sense is absent, and told.
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
  std::vector<Deviation> deviations;       ///< from what the file states

  /// Whether it says how tokens are drawn.
  bool namesSampling() const { return doSample || temperature || topP || topK || minP; }

  /// Ids are below `vocabSize`. Errors: those of Json for a text that is no object.
  static Expected<GenerationConfig> parse(std::string_view text, const std::string &fileName,
                                          uint64_t vocabSize);
  static Expected<GenerationConfig> read(const std::filesystem::path &path, uint64_t vocabSize);
};

/// The ids that the member `key` of `root` gives, one or a list, as far as a vocabulary of
/// `vocabSize` tokens has them; nothing where that is none. Others are added to `deviations`, as
/// those of the file called `file`.
std::optional<std::vector<uint64_t>> readTokenIds(const Json &root, std::string_view key,
                                                  std::string_view file, uint64_t vocabSize,
                                                  std::vector<Deviation> &deviations);

} // namespace ingot::checkpoint
