// SPDX-License-Identifier: Apache-2.0
// The error of outputs against plain loops, and with several threads.
#include "compiler/quantize/methods/OutputError.h"
#include "tests/unit/quantize_methods/Inputs.h"

using namespace ingot::quantize;
using namespace ingot::test;

TEST(OutputError, IsThatOfEveryOutput) {
  for (const auto &[rows, columns, count] :
       {std::tuple(1, 1, 1), {3, 17, 5}, {64, 32, 8}, {130, 40, 33}}) {
    const Floats weight = randomFloats(rows * columns, 1),
                 inputs = correlatedInputs(count, columns);
    Floats changed = weight;
    for (size_t i = 0; i < changed.size(); ++i)
      changed[i] += 0.01f * static_cast<float>(i % 7);
    double expected = 0;
    for (int row = 0; row < rows; ++row)
      for (int input = 0; input < count; ++input) {
        double output = 0;
        for (int i = 0; i < columns; ++i)
          output += double(changed[static_cast<size_t>(row * columns + i)] -
                           weight[static_cast<size_t>(row * columns + i)]) *
                    double(inputs[static_cast<size_t>(input * columns + i)]);
        expected += output * output;
      }
    const double found =
        outputError(weight.data(), changed.data(), rows, columns, inputs.data(), count, 1);
    EXPECT_NEAR(found, expected, 1e-4 * expected);
    for (unsigned threads : {2u, 5u})
      EXPECT_EQ(
          outputError(weight.data(), changed.data(), rows, columns, inputs.data(), count, threads),
          found);
  }
}
