// SPDX-License-Identifier: Apache-2.0
// Importance matrices as files, value by value, for tests and fuzzing.
#pragma once

#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::test {

inline std::string floatBytes(const std::vector<float> &values) {
  std::string bytes;
  for (const float value : values)
    bytes += GgufWriter::number(value);
  return bytes;
}

/// Two tensors, of which the second has two matrices and was measured for one.
inline std::string ggufImportance() {
  return GgufWriter()
      .string("general.type", "imatrix")
      .strings("imatrix.datasets", {"text.txt"})
      .u32("imatrix.chunk_count", 5)
      .u32("imatrix.chunk_size", 512)
      .tensor("a.weight.in_sum2", 0, {4, 1}, floatBytes({1, 2, 3, 4}))
      .tensor("a.weight.counts", 0, {1, 1}, floatBytes({2}))
      .tensor("exps.weight.in_sum2", 0, {2, 2}, floatBytes({4, 8, 0, 0}))
      .tensor("exps.weight.counts", 0, {1, 2}, floatBytes({2, 0}))
      .str();
}

inline std::string oldInt(int32_t value) { return GgufWriter::number(value); }

inline std::string oldEntry(std::string_view name, int32_t calls,
                            const std::vector<float> &values) {
  return (oldInt(static_cast<int32_t>(name.size())).append(name) + oldInt(calls) +
          oldInt(static_cast<int32_t>(values.size())) + floatBytes(values));
}

inline std::string oldImportance() {
  return oldInt(2) + oldEntry("a.weight", 2, {2, 4, 6}) + oldEntry("b.weight", 0, {1}) + oldInt(9) +
         oldInt(9) + "words.txt";
}

} // namespace ingot::test
