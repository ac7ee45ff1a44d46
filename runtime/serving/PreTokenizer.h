// SPDX-License-Identifier: Apache-2.0
// The steps that cut a normalized text into the pieces ("words") BPE never merges across.
#pragma once

#include "runtime/serving/Regex.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::schema {
struct Tokenizer;
}

namespace ingot::runtime {

/// A text and the parts of it that are still there, in order and not overlapping.
struct Words {
  std::string text;
  std::vector<Span> spans;
};

class PreTokenizer {
public:
  /// Errors: INGOT-E5403 for a step that lacks something, INGOT-E5404 for a bad regex.
  static Result<PreTokenizer> create(const schema::Tokenizer &description);

  /// Cuts `text`, valid UTF-8. `atStart`: nothing comes before it in the whole text.
  /// Errors: INGOT-E6402 to E6404.
  Result<Words> split(std::string text, bool atStart) const;

  /// Whether the last step spells bytes by characters; dropLastStep() leaves that to the model.
  bool endsWithByteLevel() const;
  void dropLastStep() { steps.pop_back(); }

private:
  struct Step {
    uint8_t kind;     // schema::PreTokenizerKind
    uint8_t behavior; // schema::SplitBehavior
    uint8_t prepend;  // schema::PrependScheme
    bool invert;
    std::string replacement;
    std::optional<Regex> regex;
  };
  static Status splitWords(const Step &step, Words &words);
  static Status rewriteWords(const Step &step, bool atStart, Words &words);

  std::vector<Step> steps;
};

} // namespace ingot::runtime
