// SPDX-License-Identifier: Apache-2.0
// Bounds and values of expressions over dims.
#include "runtime/engine/Expression.h"

#include <gtest/gtest.h>
#include <vector>

using namespace ingot;
using namespace ingot::runtime;
using schema::ExprNode;
using schema::ExprOp;

namespace {

class ExpressionTest : public testing::Test {
protected:
  const schema::Expr &make(const std::vector<ExprNode> &nodes) {
    builder.Clear();
    builder.Finish(schema::CreateExprDirect(builder, &nodes));
    return *flatbuffers::GetRoot<schema::Expr>(builder.GetBufferPointer());
  }

  std::string refusal(const std::vector<ExprNode> &nodes, std::vector<Interval> dims = {{1, 8}}) {
    return std::string(boundExpression(make(nodes), dims).status().code());
  }

  flatbuffers::FlatBufferBuilder builder;
};

TEST_F(ExpressionTest, BoundsHoldEveryValueAndAreReached) {
  const Interval range = {-7, 9};
  for (ExprOp op : {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::CeilDiv, ExprOp::FloorDiv,
                    ExprOp::Min, ExprOp::Max})
    for (int64_t constant : {1, 2, 3, 16}) {
      const auto &expression = make({{0, ExprOp::Dim}, {constant, ExprOp::Const}, {0, op}});
      Result<Interval> bounds = boundExpression(expression, std::vector<Interval>{range});
      ASSERT_TRUE(bounds.ok()) << bounds.status().toString();
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (int64_t x = range.min; x <= range.max; ++x) {
        int64_t value = evaluate(expression, std::vector<int64_t>{x});
        low = std::min(low, value);
        high = std::max(high, value);
      }
      EXPECT_EQ(bounds->min, low);
      EXPECT_EQ(bounds->max, high);
    }
}

TEST_F(ExpressionTest, DivisionRoundsTowardsTheInfinitiesNotZero) {
  auto value = [&](int64_t dividend, ExprOp op) {
    return evaluate(make({{dividend, ExprOp::Const}, {4, ExprOp::Const}, {0, op}}), {});
  };
  EXPECT_EQ(value(7, ExprOp::FloorDiv), 1);
  EXPECT_EQ(value(-7, ExprOp::FloorDiv), -2);
  EXPECT_EQ(value(7, ExprOp::CeilDiv), 2);
  EXPECT_EQ(value(-7, ExprOp::CeilDiv), -1);
  EXPECT_EQ(value(8, ExprOp::CeilDiv), 2);
}

TEST_F(ExpressionTest, RefusesWhatCannotBeEvaluated) {
  EXPECT_EQ(refusal({}), "INGOT-E5007");
  EXPECT_EQ(refusal({{0, ExprOp::Add}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{1, ExprOp::Const}, {0, ExprOp::Add}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{1, ExprOp::Const}, {1, ExprOp::Const}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{1, ExprOp::Dim}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{-1, ExprOp::Dim}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{1, ExprOp::Const}, {1, ExprOp::Const}, {0, ExprOp(99)}}), "INGOT-E5007");
  EXPECT_EQ(refusal({{8, ExprOp::Const}, {0, ExprOp::Dim}, {0, ExprOp::FloorDiv}}, {{0, 8}}),
            "INGOT-E5007");
  EXPECT_EQ(refusal({{INT64_MAX, ExprOp::Const}, {0, ExprOp::Dim}, {0, ExprOp::Add}}),
            "INGOT-E5007");
  EXPECT_EQ(refusal({{INT64_MAX, ExprOp::Const}, {0, ExprOp::Dim}, {0, ExprOp::Mul}}),
            "INGOT-E5007");
  EXPECT_EQ(refusal({{INT64_MIN, ExprOp::Const}, {0, ExprOp::Dim}, {0, ExprOp::Sub}}),
            "INGOT-E5007");
  EXPECT_EQ(refusal(std::vector<ExprNode>(maximumExpressionDepth + 1, {1, ExprOp::Const})),
            "INGOT-E5007");
  EXPECT_EQ(refusal(std::vector<ExprNode>(maximumExpressionNodes + 1, {1, ExprOp::Const})),
            "INGOT-E5007");
}

} // namespace
