// SPDX-License-Identifier: Apache-2.0
// Notices an answer that says the same again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// Watches the tokens of one answer. It repeats itself when its end is one passage of up to 128
/// tokens four times in a row, and no less than 64 tokens more than the passage: lists and rhymes
/// are shorter.
class RepetitionWatch {
public:
  /// Takes the next token; true once, when the answer has come to repeat itself.
  bool add(int32_t token);

private:
  bool repeats() const;

  std::vector<int32_t> tokens;
  bool isSaid = false;
};

/// Tells somebody at a terminal, on stderr, that the text repeats itself; `end`: how it is ended.
void sayRepetition(const char *end);

} // namespace ingot::runtime
