// SPDX-License-Identifier: Apache-2.0
// Samples of any number of rows, and which rows are an expert's.
#include "compiler/quantize/InputStatistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ingot::quantize;
using testing::ElementsAre;

namespace {

TEST(InputStatistics, AnyNumberOfRowsHasASampleOfBoundedSize) {
  for (int64_t count : {1, 1000, 2047, 2048, 5000, 65536}) {
    InputStatistics statistics{Moments(1)};
    // In uneven parts: what is kept depends on a row's place alone.
    for (int64_t row = 0; row < count;) {
      std::vector<float> rows;
      for (int64_t i = 0; i < 1 + row % 7 && row < count; ++i)
        rows.push_back(static_cast<float>(row++));
      statistics.add(rows, {}, 1);
    }
    const auto sampled = static_cast<int64_t>(statistics.sampled.size());
    EXPECT_GE(sampled, std::min(count, kSampledRows));
    EXPECT_LT(sampled, 2 * kSampledRows);
    for (int64_t i = 0; i < sampled; ++i)
      EXPECT_EQ(statistics.sampled[static_cast<size_t>(i)],
                static_cast<float>(i * statistics.stride));
    EXPECT_EQ(statistics.magnitudes[0], static_cast<double>(count * (count - 1) / 2));
  }
}

TEST(RowsOfExpert, AreThoseThatTheRoutingSentThere) {
  // Tokens 0, 1, 2, with two experts each; rows of two columns.
  const std::vector<float> experts = {3, 0, 1, 3, 0, 1};
  const std::vector<float> tokens = {10, 11, 20, 21, 30, 31};
  const std::vector<float> routed = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_THAT(rowsOfExpert(3, 2, true, 2, {tokens, experts}, nullptr).rows,
              ElementsAre(10, 11, 20, 21));
  const ExpertRows rows = rowsOfExpert(3, 2, false, 2, {routed, experts}, nullptr);
  EXPECT_THAT(rows.rows, ElementsAre(1, 2, 7, 8));
  EXPECT_TRUE(rows.original.empty());
  EXPECT_TRUE(rowsOfExpert(2, 2, false, 2, {routed, experts}, nullptr).rows.empty());
}

TEST(RowsOfExpert, HaveTheirTokensRowInTheUnquantizedModel) {
  const std::vector<float> experts = {0, 1, 0, 1}, values = {1, 2, 3, 4};
  // There token 0 went to the same experts in another order, token 1 to others.
  const std::vector<float> before = {1, 0, 2, 3}, valuesBefore = {10, 20, 30, 40};
  const TappedRows own{values, experts}, original{valuesBefore, before};
  const ExpertRows rows = rowsOfExpert(0, 2, false, 1, own, &original);
  EXPECT_THAT(rows.rows, ElementsAre(1, 3));
  EXPECT_THAT(rows.original, ElementsAre(20, 3));
  // What both experts read does not depend on where it went.
  const std::vector<float> tokens = {5, 6}, tokensBefore = {50, 60};
  const TappedRows ofTokens{tokens, experts}, originalTokens{tokensBefore, before};
  EXPECT_THAT(rowsOfExpert(0, 2, true, 1, ofTokens, &originalTokens).original, ElementsAre(50, 60));
}

} // namespace
