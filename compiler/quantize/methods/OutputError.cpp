// SPDX-License-Identifier: Apache-2.0
// Blocks of rows are independent; their errors are added in order.
#include "compiler/quantize/methods/OutputError.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <vector>

namespace ingot::quantize {

static constexpr int64_t kRows = 64;

double outputError(const float *weight, const float *changed, int64_t rows, int64_t columns,
                   const float *inputs, int64_t count, unsigned threads) {
  const int64_t blocks = (rows + kRows - 1) / kRows;
  std::vector<double> errors(static_cast<size_t>(blocks));
  forEachBlock(blocks, threads, [&](int64_t block) {
    const int64_t first = block * kRows * columns, here = std::min(kRows, rows - block * kRows);
    std::vector<float> differences(static_cast<size_t>(here * columns)),
        outputs(static_cast<size_t>(here * count));
    for (size_t i = 0; i < differences.size(); ++i)
      differences[i] =
          changed[static_cast<size_t>(first) + i] - weight[static_cast<size_t>(first) + i];
    addProduct(outputs.data(), count, here, count, columns, {differences.data(), columns},
               {inputs, columns, true});
    errors[static_cast<size_t>(block)] = dotProduct(outputs.data(), outputs.data(), here * count);
  });
  double sum = 0;
  for (double error : errors)
    sum += error;
  return sum;
}

} // namespace ingot::quantize
