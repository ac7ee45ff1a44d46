// SPDX-License-Identifier: Apache-2.0
// Importance matrices, in both forms.
#include "compiler/quantize/ggml/ImportanceMatrix.h"
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/quantize_ggml/ImportanceFiles.h"

#include <cmath>

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() { return {test::ggufImportance(), test::oldImportance()}; }

std::vector<std::string> fuzz::words() {
  return {"GGUF", "imatrix", "imatrix.chunk_count", ".in_sum2", ".counts", test::oldInt(1)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const MemoryFile file({reinterpret_cast<const char *>(data), size});
  const auto matrix = quantize::ImportanceMatrix::read(file.path());
  expectCode(matrix ? "" : matrix.error().code);
  if (!matrix)
    return 0;
  EXPECT_FALSE(matrix->entries.empty());
  for (const auto &[name, entry] : matrix->entries) {
    const uint64_t matrices = entry.counts.size();
    const auto means = matrix->means(name, matrices, entry.sums.size() / matrices);
    EXPECT_TRUE(means && *means && (*means)->size() == entry.sums.size());
    for (const float sum : entry.sums)
      EXPECT_TRUE(std::isfinite(sum) && sum >= 0);
  }
  return 0;
}
