// SPDX-License-Identifier: Apache-2.0
// The cover of boxes, and the coverage proof of whole engines.
#include "runtime/engine/Coverage.h"

#include "tests/unit/engine/ToyEngine.h"

#include <gmock/gmock.h>
#include <random>

using namespace ingot::runtime;
using namespace ingot::test;
using testing::HasSubstr;

namespace {

std::optional<std::vector<int64_t>> hole(const ShapeBox &declared,
                                         const std::vector<ShapeBox> &boxes) {
  bool tooComplex = false;
  auto found = findUncovered(declared, boxes, tooComplex);
  EXPECT_FALSE(tooComplex);
  return found;
}

TEST(CoverageTest, SplitRangesCover) {
  EXPECT_FALSE(
      hole({{1, 512}, {1, 8}}, {{{1, 1}, {1, 8}}, {{2, 64}, {1, 8}}, {{65, 512}, {1, 8}}}));
  EXPECT_FALSE(hole({{1, 512}}, {{{300, 512}}, {{1, 299}}}));
}

TEST(CoverageTest, FindsAHole) {
  auto point = hole({{1, 512}, {1, 8}}, {{{1, 200}, {1, 8}}, {{202, 512}, {1, 8}}});
  ASSERT_TRUE(point);
  EXPECT_EQ((*point)[0], 201);
  EXPECT_TRUE(hole({{1, 4}}, {}));
}

TEST(CoverageTest, AgreesWithEnumeration) {
  std::mt19937_64 random(7);
  auto interval = [&] {
    int64_t a = int64_t(random() % 6), b = int64_t(random() % 6);
    return Interval{std::min(a, b), std::max(a, b)};
  };
  int holes = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<ShapeBox> boxes;
    for (uint64_t i = 0; i < 1 + random() % 12; ++i)
      boxes.push_back({interval(), interval(), interval()});
    auto covered = [&](const std::vector<int64_t> &point) {
      for (const ShapeBox &box : boxes) {
        bool inside = true;
        for (size_t d = 0; d < 3; ++d)
          inside &= point[d] >= box[d].min && point[d] <= box[d].max;
        if (inside)
          return true;
      }
      return false;
    };
    bool all = true;
    for (int64_t i = 1; i <= 4; ++i)
      for (int64_t j = 1; j <= 4; ++j)
        for (int64_t k = 1; k <= 4; ++k)
          all &= covered({i, j, k});
    auto found = hole({{1, 4}, {1, 4}, {1, 4}}, boxes);
    ASSERT_EQ(found.has_value(), !all);
    if (found) {
      EXPECT_FALSE(covered(*found));
      ++holes;
    }
  }
  EXPECT_GT(holes, 100);
  EXPECT_LT(holes, 2000);
}

Status load(const ToyOptions &options) {
  AlignedBytes bytes(makeToyEngine(options));
  return EngineFile::openBytes(bytes.view(), ".").status();
}

TEST(CoverageTest, EngineWithBucketsLoads) {
  ToyOptions options;
  options.appendVariants = {{1, 1, 1, 1}, {2, 32, 2, 64}};
  EXPECT_EQ(load(options).toString(), "ok");
}

TEST(CoverageTest, RemovedRangeNamesOpShapeAndTarget) {
  ToyOptions options;
  options.appendVariants = {{1, 8, 1, 8}, {10, 32, 10, 32}};
  Status status = load(options);
  EXPECT_EQ(status.code(), "INGOT-E5013");
  EXPECT_THAT(status.toString(), HasSubstr("'append'"));
  EXPECT_THAT(status.toString(), HasSubstr("T=9"));
  EXPECT_THAT(status.toString(), HasSubstr("'toy'"));
}

TEST(CoverageTest, GuardsCutRanges) {
  ToyOptions options;
  options.appendVariants = {{1, 32, 1, 16}};
  EXPECT_EQ(load(options).code(), "INGOT-E5013");
  options.appendVariants = {{1, 32, 1, 16}, {1, 32, 17, 32}};
  EXPECT_EQ(load(options).toString(), "ok");
}

} // namespace
