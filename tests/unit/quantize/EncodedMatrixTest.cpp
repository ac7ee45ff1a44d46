// SPDX-License-Identifier: Apache-2.0
// FP8's codes by GPTQ.
#include "compiler/quantize/EncodedMatrix.h"
#include "compiler/quantize/methods/OutputError.h"
#include "tests/unit/quantize_methods/Inputs.h"

using namespace ingot::quantize;
using namespace ingot::test;
using ingot::recipe::Method;
using ingot::recipe::NumberFormat;

namespace {

constexpr int64_t kMatrixRows = 70, kColumns = 130;

Float8Matrix encoded(const Floats &weight, const Floats &inputs, int32_t group, Method method) {
  InputStatistics statistics{Moments(kColumns)};
  statistics.add(inputs, {}, 2);
  auto result =
      encodeMatrix(weight.data(), kMatrixRows, kColumns,
                   {{NumberFormat::E4M3, group}, method, ScaleType::F32, 0, 2}, &statistics);
  return std::get<Float8Matrix>(std::move(result->matrix));
}

double errorOf(const Floats &weight, const Float8Matrix &matrix, const Floats &inputs) {
  Floats meant(weight.size());
  matrix.dequantize(meant.data());
  return outputError(weight.data(), meant.data(), kMatrixRows, kColumns, inputs.data(),
                     static_cast<int64_t>(inputs.size()) / kColumns, 1);
}

} // namespace

TEST(Float8Codes, OfInputsThatAreNotCorrelatedAreRounded) {
  const Floats weight = randomFloats(kMatrixRows * kColumns, 3);
  Floats unit(kColumns * kColumns);
  for (size_t i = 0; i < unit.size(); i += kColumns + 1)
    unit[i] = 1;
  for (int32_t group : {ingot::recipe::kWholeRow, ingot::recipe::kWholeTensor}) {
    const Float8Matrix one = encoded(weight, unit, group, Method::Round),
                       other = encoded(weight, unit, group, Method::Gptq);
    EXPECT_EQ(one.scales, other.scales);
    EXPECT_EQ(one.scales.size(), group == ingot::recipe::kWholeTensor ? 1u : size_t(kMatrixRows));
    EXPECT_EQ(one.codes, other.codes);
  }
}

TEST(Float8Codes, MakeUpForErrorsOfCorrelatedInputs) {
  const Floats weight = randomFloats(kMatrixRows * kColumns, 3),
               inputs = correlatedInputs(1000, kColumns);
  const double rounded =
                   errorOf(weight, encoded(weight, inputs, ingot::recipe::kWholeRow, Method::Round),
                           inputs),
               gptq = errorOf(
                   weight, encoded(weight, inputs, ingot::recipe::kWholeRow, Method::Gptq), inputs),
               best = errorOf(
                   weight, encoded(weight, inputs, ingot::recipe::kWholeRow, Method::Best), inputs);
  EXPECT_LT(gptq, 0.7 * rounded);
  EXPECT_LE(best, gptq);
}
