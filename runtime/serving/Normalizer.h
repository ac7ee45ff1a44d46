// SPDX-License-Identifier: Apache-2.0
// The steps that rewrite a text before it is cut: Unicode forms, character maps, Lowercase,
// Prepend, Replace, Strip, ByteLevel.
#pragma once

#include "runtime/serving/CharacterMap.h"
#include "runtime/serving/Regex.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::schema {
struct Tokenizer;
}

namespace ingot::runtime {

/// No step, and no whole text, may grow beyond this.
constexpr size_t maxTextBytes = size_t(256) << 20;

/// INGOT-E6402, for a text that a step would make longer than maxTextBytes.
Status textTooLong();

class Normalizer {
public:
  /// Errors: INGOT-E5403 for a step that lacks something, INGOT-E5404 for a bad regex.
  static Result<Normalizer> create(const schema::Tokenizer &description);

  /// Rewrites `text`, valid UTF-8, in place. `atStart`: nothing comes before it in the whole text.
  /// Errors: INGOT-E6402 to E6405.
  Status normalize(std::string &text, bool atStart) const;

private:
  struct Step {
    uint8_t kind; // schema::NormalizerKind
    std::string pattern;
    std::string content;
    bool left;
    bool right;
    bool onlyAtStart;
    std::optional<Regex> regex;
    std::optional<CharacterMap> map;
  };
  std::vector<Step> steps;
};

} // namespace ingot::runtime
