// SPDX-License-Identifier: Apache-2.0
// FuzzSession: runs a reader on many mutated inputs and checks what it says about each.
#pragma once

#include "tests/fuzz/Mutator.h"

#include <gtest/gtest.h>

namespace ingot::fuzz {

/// What a reader says of bad input is a code of Ingot; of good input it is nothing.
inline void expectCode(std::string_view code) {
  constexpr std::string_view prefix = "INGOT-E";
  const bool good = code.starts_with(prefix) && code.size() == prefix.size() + 4 &&
                    code[prefix.size()] >= '1' && code[prefix.size()] <= '7' &&
                    code.find_first_not_of("0123456789", prefix.size()) == code.npos;
  EXPECT_TRUE(code.empty() || good) << "not an error code: " << code;
}

/// Counts what became of the cases; a session in which nothing was accepted or nothing refused has
/// tested half of the reader at most, so check() fails it.
class FuzzSession {
public:
  FuzzSession(std::string name, uint64_t seed) : mutator(seed), name(std::move(name)), seed(seed) {}

  Mutator mutator;

  /// Runs `cases` variants of `corpus`. `read` takes the bytes and returns the code of the error,
  /// or nothing when it accepted them; it checks for itself what it accepted.
  template <class Read>
  void run(size_t cases, const std::vector<std::string> &corpus, const Read &read) {
    for (size_t i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(name + ": seed " + std::to_string(seed) + ", case " + std::to_string(i));
      std::string code = read(mutator.mutate(corpus));
      if (code.empty()) {
        ++accepted;
        continue;
      }
      ++refused;
      expectCode(code);
    }
  }

  void check() const {
    EXPECT_GT(accepted, 0u) << name;
    EXPECT_GT(refused, 0u) << name;
    testing::Test::RecordProperty(name + "_accepted", std::to_string(accepted));
    testing::Test::RecordProperty(name + "_refused", std::to_string(refused));
  }

private:
  std::string name;
  uint64_t seed;
  size_t accepted = 0;
  size_t refused = 0;
};

} // namespace ingot::fuzz
